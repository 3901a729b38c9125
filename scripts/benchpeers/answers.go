package main

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
)

// answerLength is that of the plain answer, whatever it reports.
const answerLength = 1045

// marker stands in every answer: the part that a gateway which writes answers
// anew still has to pass on.
const marker = "The folded map lies on the table, north to the left."

// answerJSON is the plain answer. It reports so many prompt tokens, as an API
// does, since the gateway learns from that; its length is always the same.
func answerJSON(tokens int) []byte {
	text := fmt.Sprintf(`{"id":"chatcmpl-bench-0001","object":"chat.completion","created":1764547200,"model":"gpt-4o","choices":[{"index":0,`+
		`"message":{"role":"assistant","content":"%s %%s"},"logprobs":null,"finish_reason":"stop"}],`+
		`"usage":{"prompt_tokens":%8d,"completion_tokens":%8d,"total_tokens":%8d},"system_fingerprint":null}`, marker, tokens, 160, tokens+160)
	return []byte(strings.Replace(text, "%s", filler(answerLength-len(text)+2), 1))
}

func filler(n int) string {
	const words = "It shows a river, two bridges and a mill. "
	return strings.Repeat(words, n/len(words)+1)[:n]
}

// answerEvents is the plain answer as a stream.
var answerEvents = sync.OnceValue(func() [][]byte {
	var all [][]byte
	for i := range streamEvents {
		all = append(all, event(fmt.Sprintf("word%02d ", i), "null"))
	}
	return append(all, event("", `"stop"`), []byte("data: [DONE]\n\n"))
})

// summaryEvents is what the summarizer says: a text that an attempt accepts.
var summaryEvents = sync.OnceValue(func() [][]byte {
	var all [][]byte
	for _, line := range strings.SplitAfter(summaryText, "\n") {
		all = append(all, event(line, "null"))
	}
	return append(all, event("", `"stop"`), []byte("data: [DONE]\n\n"))
})

const summaryText = "The gateway's sources and documents are being read, part by part.\n" +
	"- Each part was quoted and told back in the order of the files.\n" +
	"- Nothing is open but the part that was asked for last.\n"

func event(text, reason string) []byte {
	return fmt.Appendf(nil, `data: {"id":"chatcmpl-bench-0001","object":"chat.completion.chunk","created":1764547200,"model":"gpt-4o",`+
		`"choices":[{"index":0,"delta":{"content":%q},"finish_reason":%s}]}`+"\n\n", text, reason)
}

// answerStream is the body of the plain stream without its framing.
var answerStream = sync.OnceValue(func() []byte { return bytes.Join(answerEvents(), nil) })
