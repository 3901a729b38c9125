package demo

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/foldgate/foldgate/compression/tokens"
)

// The names under which the built-in server answers.
const (
	chatModel    = "demo-chat"
	summaryModel = "demo-summary"
	// stallingModel is a summarizer that falls silent when it is told to.
	stallingModel = "demo-summary-stalling"
)

// modelServer is a small OpenAI-compatible API: a chat model with a hard
// context window, which plays the assistant's part of the script, and a
// summarizer, which really reads the transcript it is given.
type modelServer struct {
	window  int
	script  []entry
	refused atomic.Int64 // requests over the window

	mu    sync.Mutex
	stall chan struct{} // not nil: the stalling summarizer waits for it
}

type chatRequest struct {
	Model    string `json:"model"`
	Stream   bool   `json:"stream"`
	Messages []struct {
		Role      string          `json:"role"`
		Content   json.RawMessage `json:"content"`
		ToolCalls json.RawMessage `json:"tool_calls"`
	} `json:"messages"`
}

func (s *modelServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var req chatRequest
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil || len(req.Messages) == 0 {
		http.Error(w, `{"error":{"message":"not a chat request","type":"invalid_request_error"}}`, http.StatusBadRequest)
		return
	}
	switch req.Model {
	case summaryModel:
		s.summarize(w, req)
	case stallingModel:
		s.waitWhileStalled(r)
		s.summarize(w, req)
	default:
		s.answer(w, req)
	}
}

// size is what the model counts: the same vocabulary, its own arithmetic.
func (req chatRequest) size() int {
	n := 3
	for _, m := range req.Messages {
		n += 4 + tokens.Shared().Count(m.Content) + tokens.Shared().Count(m.ToolCalls)
	}
	return n
}

func (s *modelServer) answer(w http.ResponseWriter, req chatRequest) {
	n := req.size()
	if n > s.window {
		s.refused.Add(1)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"error":{"message":"This model's maximum context length is %d tokens. However, your messages resulted in %d tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, s.window, n)
		return
	}
	i := s.next(string(req.Messages[len(req.Messages)-1].Content))
	if i < 0 {
		http.Error(w, `{"error":{"message":"the demo's model has no answer to that","type":"server_error"}}`, http.StatusInternalServerError)
		return
	}
	m, err := s.script[i].message(i)
	if err != nil {
		http.Error(w, `{"error":{"message":"broken script","type":"server_error"}}`, http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{
		"id": "demo", "object": "chat.completion", "model": req.Model,
		"choices": []any{map[string]any{"index": 0, "message": m, "finish_reason": "stop"}},
		"usage":   map[string]int{"prompt_tokens": n, "completion_tokens": 60, "total_tokens": n + 60},
	})
}

// next finds the entry that answers the last message. The gateway may have put
// a handoff before the message's own text, so it is looked for at the end.
func (s *modelServer) next(content string) int {
	var text string
	if err := json.Unmarshal([]byte(content), &text); err != nil {
		return -1
	}
	for i, e := range s.script[:len(s.script)-1] {
		if strings.HasSuffix(text, e.Text) {
			return i + 1
		}
	}
	return -1
}

// worthKeeping are the sentences that this summarizer carries on.
var worthKeeping = regexp.MustCompile(`(?:Decision|decision) (?:one|two|three|four|five|six|seven): [^.,;]+`)

// wordsKept keeps the summary within the length that the gateway asks for.
const wordsKept = 11

// summarize streams a summary of the transcript: what was decided, in order.
func (s *modelServer) summarize(w http.ResponseWriter, req chatRequest) {
	var prompt string
	_ = json.Unmarshal(req.Messages[0].Content, &prompt)
	var kept []string
	seen := map[string]bool{}
	for _, sentence := range worthKeeping.FindAllString(prompt, -1) {
		words := strings.Fields(sentence)
		short := strings.Join(words[:min(len(words), wordsKept)], " ")
		if !seen[short] {
			seen[short] = true
			kept = append(kept, "- "+short)
		}
	}
	text := "A shop's database moves from kiln-01 to kiln-02.\n" + strings.Join(kept, "\n")
	w.Header().Set("Content-Type", "text/event-stream")
	for _, word := range strings.SplitAfter(text, " ") {
		delta, _ := json.Marshal(word)
		fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%s}}]}\n\n", delta)
		_ = http.NewResponseController(w).Flush()
	}
	fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
}

// stallNext makes the stalling summarizer silent until the returned function is
// called.
func (s *modelServer) stallNext() (release func()) {
	ch := make(chan struct{})
	s.mu.Lock()
	s.stall = ch
	s.mu.Unlock()
	return sync.OnceFunc(func() { close(ch) })
}

// waitWhileStalled ignores that its caller hangs up, as a stuck model does.
func (s *modelServer) waitWhileStalled(*http.Request) {
	s.mu.Lock()
	ch := s.stall
	s.stall = nil
	s.mu.Unlock()
	if ch != nil {
		<-ch
	}
}
