package refusal

import (
	"bytes"
	"regexp"
)

// tooLarge are the wordings for a body of too many bytes. They name the body, its
// payload or a size in bytes: a request that is too large for a rate limit, and a
// single image that is, are refused in words that are alike.
func tooLarge() []wording {
	return []wording{
		// With a limit: Gemini; Fastify and others on Node; DashScope; Anthropic;
		// LiteLLM's own bound; Next.js.
		{needs: "payload size exceeds", pattern: `payload size exceeds the limit:? ?{bytes}(?: ?{unit})?`, kind: TooLarge},
		{needs: "maximum request body size", pattern: `maximum request body size {bytes}(?: ?{unit})? exceeded`, kind: TooLarge},
		{needs: "exceeded limit on max bytes", pattern: `exceeded limit on max bytes to [a-z ]{1,20}: ?{bytes}`, kind: TooLarge},
		{needs: "exceeds the maximum", pattern: `request exceeds the maximum (?:allowed )?(?:size|number of bytes)(?:.{0,60}?{bytes} ?{unit})?`, kind: TooLarge},
		{needs: "too large", pattern: `request (?:body|size|payload|entity)(?: size)? (?:is )?too large.{0,60}?max(?:imum)?(?: allowed)?(?: size)?(?: is|:)? ?{bytes} ?{unit}`, kind: TooLarge},
		{needs: "exceed", pattern: `(?:request|body|payload|content)(?: body| size| length)* (?:exceeded|exceeds|exceeding) .{0,40}?{bytes} ?{unit}\b`, kind: TooLarge},

		// Without: nginx, Cloudflare, Express, Go, axum, actix, API gateways.
		{needs: "too ", pattern: `\b(?:request (?:entity|body|payload|size)|payload|entity|message body|post body)(?: size| length)? (?:is |was )?too (?:large|long|big)\b|\bcontent too large\b`, kind: TooLarge},
		{needs: "length limit exceeded", pattern: `request body: length limit exceeded`, kind: TooLarge},
		{needs: "reached size limit", pattern: `payload reached size limit`, kind: TooLarge},
		{needs: "exceed", pattern: `(?:request body|payload|request size)(?: size)? (?:exceeded|exceeds) (?:the )?(?:size |configured |allowed |maximum |max )*limit\b`, kind: TooLarge},
	}
}

// tooLargeCodes are what tells a refused size where no wording did.
func tooLargeCodes() []string {
	return []string{
		"request_too_large", "payload_too_large", "content_too_large", "request_entity_too_large", "requestentitytoolarge",
		"entity.too.large", "payloadtoolargeerror", "function_payload_too_large", "fst_err_ctp_body_too_large",
	}
}

// windowReason is how Anthropic and z.ai end an answer whose generation ran into
// the window.
const windowReason = "model_context_window_exceeded"

// endedByWindow finds it as a value, saidSomething anything that the model said.
// Quotes inside a string are escaped, so nothing that an answer talks about matches.
var (
	endedByWindow = regexp.MustCompile(`"(?:finish|stop|native_finish)_reason"\s*:\s*"` + windowReason + `"`)
	saidSomething = regexp.MustCompile(`"(?:content|reasoning_content|reasoning|text|refusal)"\s*:\s*"[^"]|"(?:tool_calls|function_call)"\s*:\s*[\[{]\s*[{"]`)
)

// ranOut reports whether an answer of status 2xx, or the event that a stream
// begins with, holds nothing but that the input filled the window. What holds
// part of an answer is an answer.
func ranOut(data []byte) bool {
	if len(data) > maxBody || !bytes.Contains(data, []byte(windowReason)) {
		return false
	}
	return endedByWindow.Match(data) && !saidSomething.Match(data)
}
