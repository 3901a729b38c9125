//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// plantedWorld is an upstream and the summarizer's two routes. What they do depends
// on a word in the conversation, and whatever they say has planted texts in it.
type plantedWorld struct {
	*httptest.Server
	held chan chan struct{} // a request that waits until its channel is closed
	over chan struct{}

	mu  sync.Mutex
	got strings.Builder // heads and bodies as they came
}

func newPlantedWorld(t *testing.T) *plantedWorld {
	t.Helper()
	w := &plantedWorld{held: make(chan chan struct{}, 8), over: make(chan struct{})}
	w.Server = httptest.NewServer(http.HandlerFunc(w.serve))
	t.Cleanup(func() {
		close(w.over)
		w.Close()
	})
	return w
}

var plantedCase = regexp.MustCompile(`case-[a-z]+`)

func (w *plantedWorld) serve(rw http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	w.mu.Lock()
	fmt.Fprintf(&w.got, "%s %v %s\n", r.URL, r.Header, raw)
	w.mu.Unlock()
	body := string(raw)
	switch name := plantedCase.FindString(body + r.URL.Path); {
	case name == "case-cancel" && !strings.HasPrefix(r.URL.Path, "/v1"):
		w.hold(r)
	case strings.HasPrefix(r.URL.Path, "/primary"):
		w.primary(rw, name)
	case strings.HasPrefix(r.URL.Path, "/fallback"):
		w.fallback(rw, name)
	default:
		w.upstream(rw, r, name, body)
	}
}

// received is all that came.
func (w *plantedWorld) received() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.got.String()
}

// hold waits until the test lets the request go on.
func (w *plantedWorld) hold(r *http.Request) {
	release := make(chan struct{})
	w.held <- release
	select {
	case <-release:
	case <-r.Context().Done():
	case <-w.over:
	}
}

func (w *plantedWorld) primary(rw http.ResponseWriter, name string) {
	switch name {
	case "case-ladder", "case-failed":
		refuseWith(rw, http.StatusInternalServerError, plant("summarizererror"), "server_error")
	case "case-nonsense":
		hijacked(rw, plant("summarizergarbage")+"\r\n\r\n")
	default:
		stream(rw, "SUMMARY: questions were asked and answered, nothing is open. "+plant("summarytext"), "stop")
	}
}

func (w *plantedWorld) fallback(rw http.ResponseWriter, name string) {
	switch name {
	case "case-failed":
		rw.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(rw, "data: {\"error\":{\"message\":%q,\"type\":\"server_error\"}}\n\n", plant("streamerror"))
	case "case-nonsense":
		fmt.Fprintf(rw, "<html>%s</html>", plant("summarizerpage"))
	default:
		stream(rw, "SUMMARY: questions were asked and answered, nothing is open. "+plant("summarytext"), plant("finishreason"))
	}
}

func (w *plantedWorld) upstream(rw http.ResponseWriter, r *http.Request, name, body string) {
	rw.Header().Set("X-Request-Id", plant("responseheader"))
	if strings.HasSuffix(r.URL.Path, "/chat/completions") {
		rw.Header().Set("Foldgate-Fold", plant("forgedfield"))
	}
	switch {
	case name == "case-overflow" && len(body) > 30_000:
		refuseWith(rw, http.StatusBadRequest, "This model's maximum context length is 5000 tokens. However, your messages resulted in 9000 tokens. "+plant("overflowerror"), "invalid_request_error")
	case name == "case-structure" && strings.Contains(body, "SUMMARY"):
		refuseWith(rw, http.StatusBadRequest, "Conversation roles must alternate user/assistant. "+plant("structureerror"), "invalid_request_error")
	case name == "case-refused":
		refuseWith(rw, http.StatusUnauthorized, "Incorrect API key provided: "+plant("upstreamerror"), "invalid_request_error")
	case name == "case-garbage":
		hijacked(rw, plant("garbage")+"\r\n\r\n")
	case name == "case-badheader":
		hijacked(rw, "HTTP/1.1 200 OK\r\n"+plant("headerline")+"\r\n\r\n")
	case name == "case-badchunk":
		hijacked(rw, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n"+plant("trailerline")+"\r\n\r\n")
	case name == "case-unasked":
		hijacked(rw, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"+plant("unasked"))
	case name == "case-hang" || name == "case-slow":
		w.hold(r)
		fmt.Fprint(rw, "{}")
	default:
		rw.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(rw, `{"id":%q,"model":%q,"choices":[{"index":0,"message":{"role":"assistant","content":%q},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":2}}`,
			plant("responseid"), plant("upstreammodel"), plant("answertext"))
	}
}

func refuseWith(rw http.ResponseWriter, status int, message, kind string) {
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(status)
	fmt.Fprintf(rw, `{"error":{"message":%q,"type":%q}}`, message, kind)
}

func stream(rw http.ResponseWriter, text, finish string) {
	rw.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(rw, "data: {\"model\":%q,\"choices\":[{\"index\":0,\"delta\":{\"content\":%q}}]}\n\n", plant("responsemodel"), text)
	fmt.Fprintf(rw, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":%q}]}\n\ndata: [DONE]\n\n", finish)
}

// hijacked answers with bytes that are no HTTP, or not only.
func hijacked(rw http.ResponseWriter, answer string) {
	conn, _, err := http.NewResponseController(rw).Hijack()
	if err != nil {
		return
	}
	_, _ = io.WriteString(conn, answer)
	_ = conn.Close()
}

// plantedChat is a chat request with planted texts wherever a caller can write one.
func plantedChat(name, model string, turns int) string {
	call := func(i int) []map[string]any {
		id := fmt.Sprintf("call-%d-%s", i, plant("callid"))
		return []map[string]any{
			{"role": "assistant", "content": nil, "tool_calls": []any{map[string]any{
				"id": id, "type": "function",
				"function": map[string]any{"name": plant("toolname"), "arguments": `{"path":"` + plant("toolarguments") + `"}`},
			}}},
			{"role": "tool", "tool_call_id": id, "content": plant("toolresult") + strings.Repeat(" india juliett kilo lima", 8)},
		}
	}
	messages := []map[string]any{
		{"role": "system", "content": "Be careful. " + plant("systemtext")},
		{"role": "developer", "content": "Be brief. " + plant("developertext")},
	}
	for i := range turns {
		messages = append(messages,
			map[string]any{"role": "user", "name": plant("username"), "content": fmt.Sprintf("%s question %d: %s %s", name, i, plant("usertext"), strings.Repeat("alpha bravo charlie delta ", 8))})
		if i%5 == 2 {
			messages = append(messages, call(i)...)
		}
		messages = append(messages,
			map[string]any{"role": "assistant", "content": fmt.Sprintf("answer %d: %s %s", i, plant("assistanttext"), strings.Repeat("echo foxtrot golf hotel ", 8))})
	}
	messages = append(messages, map[string]any{"role": "user", "content": []any{
		map[string]any{"type": "text", "text": name + ": and now? " + plant("lasttext")},
	}})
	body, err := json.Marshal(map[string]any{
		"model": model, "messages": messages, "user": plant("user"), "metadata": map[string]any{plant("metadatakey"): plant("metadata")},
		"stop": []string{plant("stop")}, "prompt_cache_key": plant("cachekey"), "safety_identifier": plant("safetyid"),
		"tools": []any{map[string]any{"type": "function", "function": map[string]any{
			"name": plant("toolname"), "description": plant("tooldescription"),
			"parameters": map[string]any{"type": "object", "properties": map[string]any{plant("toolparameter"): map[string]any{"type": "string"}}},
		}}},
	})
	if err != nil {
		panic(err)
	}
	return string(body)
}

// plantedHeader is what such a caller sends beside the body, and what of it goes
// on to the upstream.
func plantedHeader() []string {
	return []string{
		"Authorization", "Bearer " + plant("authorization"), "Api-Key", plant("apikey"), "X-Api-Key", plant("xapikey"),
		"X-Team", plant("tenant"), "Cookie", "session=" + plant("cookie"), "User-Agent", plant("useragent"),
		"X-Forwarded-For", plant("forwardedfor"), "Referer", "http://" + plant("referer"), "Baggage", "a=" + plant("baggage"),
		"Openai-Organization", plant("organization"), "X-Anything", plant("anyheader"),
	}
}
