package clients

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/foldgate/foldgate/compression/foldtest"
	"github.com/foldgate/foldgate/compression/tokens"
)

// The models of the server, and what they accept.
const (
	largeModel   = "gpt-4o-mini" // in the gateway's own table
	smallModel   = "small"       // configured at the gateway
	unknownModel = "unknown"     // not known to the gateway
	smallWindow  = 8000
)

const apiKey = "sk-clients"

// model is a strict OpenAI-like server. What it answers is a scenario, named by
// the last user message: "@plain", "@stream", and so on.
type model struct {
	url    string
	window int          // of every model but the large one
	agent  *agentScript // not nil: plays a coding agent's model

	mu      sync.Mutex
	got     []request
	times   map[string]int // requests of a scenario so far
	hangups int
	hung    chan struct{} // one element per client that hung up

}

type connKey struct{}

func newModel(t *testing.T) *model {
	t.Helper()
	m := &model{window: smallWindow, times: map[string]int{}, hung: make(chan struct{}, 100)}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m.url = "http://" + l.Addr().String()
	server := &http.Server{
		Handler:     m,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) },
		ErrorLog:    log.New(io.Discard, "", 0), // a client that hangs up is part of the tests
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(recordingListener{l})
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-ended
	})
	return m
}

// requests are those of a client, in the order in which they came.
func (m *model) requests() []request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]request(nil), m.got...)
}

// chatRequest is what the server looks at.
type chatRequest struct {
	Model    string `json:"model"`
	Stream   bool   `json:"stream"`
	Messages []struct {
		Role       string          `json:"role"`
		Content    json.RawMessage `json:"content"`
		ToolCalls  json.RawMessage `json:"tool_calls"`
		ToolCallID string          `json:"tool_call_id"`
	} `json:"messages"`
	Tools         json.RawMessage `json:"tools"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	ResponseFormat struct {
		Type       string          `json:"type"`
		JSONSchema json.RawMessage `json:"json_schema"`
	} `json:"response_format"`
}

// size is what the model counts, with the vocabulary of the models it stands for.
func (r chatRequest) size() int {
	n := 3 + tokens.Shared().Count(r.Tools)
	for _, m := range r.Messages {
		n += 4 + tokens.Shared().CountString(textOf(m.Content)) + tokens.Shared().Count(m.ToolCalls)
	}
	return n
}

// textOf is the text of a message's content; images have none.
func textOf(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var parts []struct{ Text string }
	_ = json.Unmarshal(raw, &parts)
	var all []string
	for _, p := range parts {
		all = append(all, p.Text)
	}
	return strings.Join(all, "\n")
}

// scenarioName finds what the last user message asks for. A handoff and recalled
// passages may stand before the message's own text, so the last one counts.
var scenarioName = regexp.MustCompile(`@([a-z0-9-]+)`)

func (r chatRequest) scenario() string {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if r.Messages[i].Role != "user" {
			continue
		}
		if all := scenarioName.FindAllStringSubmatch(textOf(r.Messages[i].Content), -1); len(all) > 0 {
			return all[len(all)-1][1]
		}
	}
	return ""
}

// summary reports whether somebody wants a summary of a conversation: the
// gateway's own call, which is one message and no tools.
func (r chatRequest) summary() bool {
	return len(r.Messages) == 1 && strings.HasPrefix(textOf(r.Messages[0].Content), "Write a summary of the conversation below")
}

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client is gone
	}
	raw := r.Context().Value(connKey{}).(*recordingConn).take()
	got := request{raw: raw, body: body, method: r.Method, path: r.URL.RequestURI()}
	var req chatRequest
	isChat := strings.HasSuffix(r.URL.Path, "/chat/completions")
	problem := ""
	if isChat {
		if err := json.Unmarshal(body, &req); err != nil {
			problem = "the body is no JSON: " + err.Error()
		}
		if got.scenario = req.scenario(); req.summary() {
			got.scenario = "summary"
		}
	}
	m.mu.Lock()
	m.got = append(m.got, got)
	m.times[got.scenario]++
	times := m.times[got.scenario]
	m.mu.Unlock()

	h := w.Header()
	h.Set("X-Request-Id", "req_"+got.scenario)
	h.Set("Openai-Processing-Ms", "7")
	h.Set("X-Ratelimit-Remaining-Requests", "99")
	if r.Header.Get("Authorization") != "Bearer "+apiKey {
		refuse(w, 401, "Incorrect API key provided: sk-wrong.", "invalid_request_error", "", "invalid_api_key")
		return
	}
	if !isChat {
		m.neighbour(w, r, body)
		return
	}
	if problem == "" {
		problem = strict(r, body)
	}
	if problem != "" {
		refuse(w, 400, problem, "invalid_request_error", "messages", "")
		return
	}
	if n := req.size(); req.Model != largeModel && n > m.window {
		refuse(w, 400, fmt.Sprintf("This model's maximum context length is %d tokens. However, your messages resulted in %d tokens. Please reduce the length of the messages.", m.window, n),
			"invalid_request_error", "messages", "context_length_exceeded")
		return
	}
	if got.scenario == "summary" {
		summarize(w, req)
		return
	}
	if m.agent != nil {
		m.agent.answer(w, req, body)
		return
	}
	m.answer(w, r, req, got.scenario, times)
}

// known are the fields of a chat request that OpenAI describes.
var known = strings.Fields(`model messages stream stream_options tools tool_choice parallel_tool_calls response_format
	temperature top_p n stop seed user store metadata max_tokens max_completion_tokens presence_penalty frequency_penalty
	logit_bias logprobs top_logprobs reasoning_effort verbosity modalities audio prediction service_tier prompt_cache_key
	prompt_cache_retention safety_identifier web_search_options`)

// strict says what an OpenAI-like validator refuses; empty: nothing.
func strict(r *http.Request, body []byte) string {
	if r.Method != http.MethodPost || !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		return "a chat request is a POST of application/json"
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return err.Error()
	}
	for name := range fields {
		if !slices.Contains(known, name) {
			return "Unrecognized request argument supplied: " + name
		}
	}
	if bad := foldtest.Validate(body, foldtest.OpenAI); len(bad) > 0 {
		return strings.Join(bad, "; ")
	}
	return ""
}

// refuse answers with an error in OpenAI's envelope.
func refuse(w http.ResponseWriter, status int, message, kind, param, code string) {
	orNull := func(s string) any {
		if s == "" {
			return nil
		}
		return s
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{
		"message": message, "type": kind, "param": orNull(param), "code": orNull(code),
	}})
}

// untilHangup waits for the client to leave.
func (m *model) untilHangup(r *http.Request) {
	select {
	case <-r.Context().Done():
		m.mu.Lock()
		m.hangups++
		m.mu.Unlock()
		m.hung <- struct{}{}
	case <-time.After(patience):
	}
}

// awaitHangups fails the test if fewer clients than wanted leave in time.
func (m *model) awaitHangups(t *testing.T, want int) {
	t.Helper()
	limit := time.After(patience)
	for range want {
		select {
		case <-m.hung:
		case <-limit:
			m.mu.Lock()
			defer m.mu.Unlock()
			t.Fatalf("the model server saw %d clients hang up, want %d", m.hangups, want)
		}
	}
}
