package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/foldgate/foldgate/compression/tokens"
)

// chat is what this server reads of a chat request.
type chat struct {
	Model    string    `json:"model"`
	Stream   bool      `json:"stream,omitempty"`
	Messages []message `json:"messages"`
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// size is about what a model would count.
func (c chat) size() int {
	n := 3
	for _, m := range c.Messages {
		n += 4 + tokens.Shared().CountString(m.Content)
	}
	return n
}

// model answers chat requests. It holds nothing but its window.
type model struct{ window int }

// maxBody is more than any window here holds.
const maxBody = 64 << 20

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/models") {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"object":"list","data":[{"id":"stand-in","object":"model","max_model_len":%d}]}`, m.window)
		return
	}
	if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/chat/completions") {
		http.NotFound(w, r)
		return
	}
	var c chat
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&c); err != nil {
		refuse(w, http.StatusBadRequest, "invalid_request", "this is no chat request")
		return
	}
	switch c.Model {
	case "broken":
		refuse(w, http.StatusInternalServerError, "broken", "this model is out of order")
	case "silent":
		stream(w, r, c, []string{""}, 0)
		<-r.Context().Done()
	case "slow":
		stream(w, r, c, words(summary), time.Second)
	case "summary":
		stream(w, r, c, words(summary), 0)
	default:
		m.answer(w, r, c)
	}
}

// summary is what the models that write summaries say, whatever they are asked.
const summary = "A plan is being made, step by step.\n" +
	"- For each step a group, a day, boards and a shed were settled.\n" +
	"- Nothing is open but the question that was asked last."

func (m *model) answer(w http.ResponseWriter, r *http.Request, c chat) {
	n := c.size()
	if n > m.window {
		refuse(w, http.StatusBadRequest, "context_length_exceeded", fmt.Sprintf(
			"This model's maximum context length is %d tokens. However, your messages resulted in %d tokens.", m.window, n))
		return
	}
	said := fmt.Sprintf("I was sent %d messages of %d tokens.", len(c.Messages), n)
	if c.Stream {
		stream(w, r, c, words(said), 0)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	text, _ := json.Marshal(said) // a string always can be
	fmt.Fprintf(w, `{"object":"chat.completion","model":%q,"choices":[{"index":0,"message":{"role":"assistant","content":%s},"finish_reason":"stop"}],`+
		`"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}}`+"\n", "stand-in", text, n, len(words(said)), n+len(words(said)))
}

// stream writes an answer in pieces, so long after one another, until its reader
// has left.
func stream(w http.ResponseWriter, r *http.Request, c chat, pieces []string, apart time.Duration) {
	w.Header().Set("Content-Type", "text/event-stream")
	flush := http.NewResponseController(w).Flush
	for _, piece := range pieces {
		text, _ := json.Marshal(piece) // a string always can be
		fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":%s}}]}\n\n", text)
		if flush() != nil {
			return
		}
		select {
		case <-time.After(apart):
		case <-r.Context().Done():
			return
		}
	}
	if c.Model == "silent" {
		return
	}
	fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":%d,\"completion_tokens\":%d}}\n\n"+
		"data: [DONE]\n\n", c.size(), len(pieces))
}

func words(s string) []string { return strings.SplitAfter(s, " ") }

func refuse(w http.ResponseWriter, status int, code, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"error":{"message":%q,"type":"invalid_request_error","param":null,"code":%q}}`+"\n", text, code)
}
