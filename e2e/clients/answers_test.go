package clients

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
)

// The scenarios of the model server.

// said is the text of plain answers.
const said = "Hello from the model."

func (m *model) answer(w http.ResponseWriter, r *http.Request, req chatRequest, scenario string, times int) {
	switch scenario {
	case "tools":
		m.tools(w, req)
	case "schema":
		if req.ResponseFormat.Type != "json_schema" || !strings.Contains(string(req.ResponseFormat.JSONSchema), "harbour") {
			refuse(w, 400, "no json_schema with a harbour: "+string(req.ResponseFormat.JSONSchema), "invalid_request_error", "response_format", "")
			return
		}
		reply(w, req, message{Content: `{"harbour":"Rostock","berths":7}`}, "stop")
	case "image":
		m.image(w, req)
	case "reasoning":
		reply(w, req, message{Content: said, Reasoning: "First I thought about it."}, "stop")
	case "cancel":
		s := startStream(w, req)
		s.delta(map[string]any{"role": "assistant", "content": "one "})
		s.delta(map[string]any{"content": "two "})
		m.untilHangup(r)
	case "timeout":
		m.untilHangup(r)
	case "retry-429", "retry-500", "retry-reset":
		if times == 1 {
			m.failure(w, r, scenario)
			return
		}
		reply(w, req, message{Content: said}, "stop")
	case "error-401":
		refuse(w, 401, "Incorrect API key provided.", "invalid_request_error", "", "invalid_api_key")
	case "error-404":
		refuse(w, 404, "The model does not exist.", "invalid_request_error", "model", "model_not_found")
	case "error-429":
		w.Header().Set("Retry-After", "7")
		refuse(w, 429, "Rate limit reached.", "requests", "", "rate_limit_exceeded")
	case "error-400":
		refuse(w, 400, "Invalid value for temperature.", "invalid_request_error", "temperature", "invalid_value")
	case "error-reset":
		m.failure(w, r, "retry-reset")
	default:
		reply(w, req, message{Content: said}, "stop")
	}
}

// failure is what the first request of a retried scenario meets.
func (m *model) failure(w http.ResponseWriter, r *http.Request, scenario string) {
	switch scenario {
	case "retry-429":
		w.Header().Set("Retry-After", "1")
		w.Header().Set("Retry-After-Ms", "20")
		refuse(w, 429, "Rate limit reached.", "requests", "", "rate_limit_exceeded")
	case "retry-500":
		w.Header().Set("Retry-After-Ms", "20")
		refuse(w, 500, "The server had an error.", "server_error", "", "")
	case "retry-reset":
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		if tcp, ok := c.(*recordingConn).Conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // a reset, not an end
		}
		_ = c.Close()
	}
}

// tools asks for two calls at once, and answers their results.
func (m *model) tools(w http.ResponseWriter, req chatRequest) {
	var results []string
	for _, msg := range req.Messages {
		if msg.Role == "tool" {
			results = append(results, msg.ToolCallID+"="+textOf(msg.Content))
		}
	}
	if len(results) > 0 {
		reply(w, req, message{Content: "The results are " + strings.Join(results, " and ") + "."}, "stop")
		return
	}
	reply(w, req, message{Calls: []call{
		{ID: "call_rostock", Name: "tide", Arguments: `{"harbour":"Rostock"}`},
		{ID: "call_bergen", Name: "tide", Arguments: `{"harbour":"Bergen"}`},
	}}, "tool_calls")
}

// image answers what images it was sent.
func (m *model) image(w http.ResponseWriter, req chatRequest) {
	var parts []struct {
		Type     string
		ImageURL struct {
			URL string `json:"url"`
		} `json:"image_url"`
	}
	_ = json.Unmarshal(req.Messages[len(req.Messages)-1].Content, &parts)
	var seen []string
	for _, p := range parts {
		if p.Type == "image_url" {
			kind, _, _ := strings.Cut(p.ImageURL.URL, ":")
			seen = append(seen, fmt.Sprintf("%s of %d bytes", kind, len(p.ImageURL.URL)))
		}
	}
	reply(w, req, message{Content: "I see " + strings.Join(seen, " and ") + "."}, "stop")
}

type call struct{ ID, Name, Arguments string }

type message struct {
	Content   string
	Reasoning string
	Calls     []call
}

func (m message) toolCalls(indexed bool) []any {
	var calls []any
	for i, c := range m.Calls {
		v := map[string]any{"id": c.ID, "type": "function", "function": map[string]any{"name": c.Name, "arguments": c.Arguments}}
		if indexed {
			v["index"] = i
		}
		calls = append(calls, v)
	}
	return calls
}

func usageOf(req chatRequest) map[string]any {
	n := req.size()
	return map[string]any{
		"prompt_tokens": n, "completion_tokens": 9, "total_tokens": n + 9,
		"prompt_tokens_details":     map[string]any{"cached_tokens": 0, "audio_tokens": 0},
		"completion_tokens_details": map[string]any{"reasoning_tokens": 0},
	}
}

// reply answers as the request wants it, whole or as a stream.
func reply(w http.ResponseWriter, req chatRequest, m message, finish string) {
	if req.Stream {
		s := startStream(w, req)
		s.message(m)
		s.end(finish)
		return
	}
	v := map[string]any{"role": "assistant", "content": m.Content, "refusal": nil}
	if len(m.Calls) > 0 {
		v["content"], v["tool_calls"] = nil, m.toolCalls(false)
	}
	if m.Reasoning != "" {
		v["reasoning_content"], v["reasoning"] = m.Reasoning, m.Reasoning
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{
		"id": "chatcmpl-1", "object": "chat.completion", "created": 1_750_000_000, "model": req.Model, "service_tier": "default",
		"choices": []any{map[string]any{"index": 0, "message": v, "logprobs": nil, "finish_reason": finish}},
		"usage":   usageOf(req), "system_fingerprint": "fp_1",
	})
}

// stream writes chunks in OpenAI's framing.
type stream struct {
	w   http.ResponseWriter
	req chatRequest
}

func startStream(w http.ResponseWriter, req chatRequest) *stream {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	return &stream{w: w, req: req}
}

func (s *stream) chunk(choices []any, usage any) {
	v := map[string]any{"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_750_000_000, "model": s.req.Model, "system_fingerprint": "fp_1", "choices": choices}
	if s.req.StreamOptions.IncludeUsage {
		v["usage"] = usage
	}
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	fmt.Fprintf(s.w, "data: %s\n\n", raw)
	_ = http.NewResponseController(s.w).Flush()
}

func (s *stream) delta(d map[string]any) {
	s.chunk([]any{map[string]any{"index": 0, "delta": d, "logprobs": nil, "finish_reason": nil}}, nil)
}

// message streams text word by word, and the arguments of parallel calls in
// turns, a few bytes each.
func (s *stream) message(m message) {
	s.delta(map[string]any{"role": "assistant", "content": nil})
	for _, word := range strings.SplitAfter(m.Reasoning, " ") {
		if word != "" {
			s.delta(map[string]any{"reasoning_content": word, "reasoning": word})
		}
	}
	for _, word := range strings.SplitAfter(m.Content, " ") {
		if word != "" {
			s.delta(map[string]any{"content": word})
		}
	}
	const piece = 512
	for i, c := range m.Calls {
		s.delta(map[string]any{"tool_calls": []any{map[string]any{"index": i, "id": c.ID, "type": "function", "function": map[string]any{"name": c.Name, "arguments": ""}}}})
	}
	small := 6
	if len(m.Calls) == 1 {
		small = piece
	}
	for at, more := 0, true; more; at += small {
		more = false
		for i, c := range m.Calls {
			if at < len(c.Arguments) {
				s.delta(map[string]any{"tool_calls": []any{map[string]any{"index": i, "function": map[string]any{"arguments": c.Arguments[at:min(at+small, len(c.Arguments))]}}}})
				more = true
			}
		}
	}
}

func (s *stream) end(finish string) {
	s.chunk([]any{map[string]any{"index": 0, "delta": map[string]any{}, "logprobs": nil, "finish_reason": finish}}, nil)
	if s.req.StreamOptions.IncludeUsage {
		s.chunk([]any{}, usageOf(s.req))
	}
	fmt.Fprint(s.w, "data: [DONE]\n\n")
}

// summarize writes what a model would: some sentences of what it was given.
func summarize(w http.ResponseWriter, req chatRequest) {
	prompt := textOf(req.Messages[0].Content)
	_, transcript, _ := strings.Cut(prompt, "<transcript>\n")
	var kept []string
	for line := range strings.SplitSeq(transcript, "\n") {
		if strings.Contains(line, "harbour") && len(kept) < 4 {
			kept = append(kept, "- "+line[:min(len(line), 90)])
		}
	}
	text := "## Task\nThe user asks about harbours and tides.\n## Done\n" + strings.Join(kept, "\n")
	s := startStream(w, req)
	s.message(message{Content: text})
	s.end("stop")
}
