package llm_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"github.com/foldgate/foldgate/compression/llm"
	"github.com/foldgate/foldgate/compression/refusal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve starts a server and makes a client for it; both end with the test.
func serve(t *testing.T, h http.HandlerFunc) (*llm.Client, string) {
	t.Helper()
	s := httptest.NewServer(h)
	c := llm.NewClient(nil)
	t.Cleanup(func() { c.CloseIdleConnections(); s.Close() })
	return c, s.URL + "/v1/chat/completions"
}

// reply answers every call with a body of the type.
func reply(contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		io.WriteString(w, body)
	}
}

// frames makes an event stream of the payloads.
func frames(payloads ...string) string {
	var b strings.Builder
	for _, p := range payloads {
		b.WriteString("data: " + p + "\n\n")
	}
	return b.String()
}

// delta is a chunk whose delta has the fields.
func delta(fields string) string {
	return `{"id":"c","model":"m-1","choices":[{"index":0,"delta":{` + fields + `},"finish_reason":null}]}`
}

const (
	stop  = `{"id":"c","model":"m-1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":null}`
	usage = `{"id":"c","choices":[],"usage":{"prompt_tokens":30,"completion_tokens":4}}`
	done  = "[DONE]"
)

func TestSummarizeSends(t *testing.T) {
	var got *http.Request
	var body []byte
	client, url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		io.WriteString(w, frames(delta(`"content":"x"`), stop, done))
	})
	header := http.Header{
		"Authorization": {"Bearer key"}, "X-Custom": {"1", "2"},
		"Accept-Encoding": {"gzip"}, "content-length": {"3"}, "Content-Encoding": {"gzip"},
	}
	before := header.Clone()
	prompt := "line\n\"quoted\" <b>&\u2028 語 \x00 and \xff"
	_, err := client.Summarize(t.Context(), llm.Call{URL: url + "?api-version=1", Header: header, Model: `m"1`, Prompt: prompt}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, header); diff != "" {
		t.Errorf("the caller's header was changed:\n%s", diff)
	}
	if got.Method != http.MethodPost || got.URL.String() != "/v1/chat/completions?api-version=1" {
		t.Errorf("%s %s", got.Method, got.URL)
	}
	want := http.Header{
		"Authorization": {"Bearer key"}, "X-Custom": {"1", "2"}, "Accept": {"text/event-stream, application/json"},
		"Accept-Encoding": {"identity"}, "Content-Type": {"application/json"},
	}
	ignored := cmpopts.IgnoreMapEntries(func(k string, _ []string) bool { return k == "User-Agent" || k == "Content-Length" })
	if diff := cmp.Diff(want, got.Header, ignored); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
	if got.ContentLength != int64(len(body)) {
		t.Errorf("content length %d, body of %d bytes", got.ContentLength, len(body))
	}
	var parsed map[string]any
	if err := json.Unmarshal(body, &parsed); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	wantBody := map[string]any{
		"model": `m"1`, "stream": true,
		"messages": []any{map[string]any{"role": "user", "content": strings.ToValidUTF8(prompt, "\ufffd")}},
	}
	if diff := cmp.Diff(wantBody, parsed); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
}

func TestSummarizeReads(t *testing.T) {
	const stream, object = "text/event-stream", "application/json"
	counted := refusal.Usage{PromptTokens: 30, CompletionTokens: 4}
	tests := []struct {
		name, contentType, body string
		want                    llm.Answer
		progress                int
		err                     error
	}{
		{
			name: "stream", contentType: stream,
			body:     ": ping\n\n" + frames(delta(`"role":"assistant","content":""`), delta(`"content":"He"`), delta(`"content":"llo"`), stop, usage, done),
			want:     llm.Answer{Text: "Hello", FinishReason: "stop", Usage: counted, Model: "m-1"},
			progress: 2,
		},
		{
			name: "stream without [DONE]", contentType: stream,
			body: frames(delta(`"content":"a"`), stop), want: llm.Answer{Text: "a", FinishReason: "stop", Model: "m-1"}, progress: 1,
		},
		{
			name: "stream without a finish reason", contentType: stream,
			body: frames(delta(`"content":"a"`), done), want: llm.Answer{Text: "a", Model: "m-1"}, progress: 1,
		},
		{
			name: "stream without its last line end", contentType: stream,
			body: frames(delta(`"content":"a"`)) + "data: [DONE]", want: llm.Answer{Text: "a", Model: "m-1"}, progress: 1,
		},
		{
			name: "stream of another type, CRLF", contentType: "application/octet-stream",
			body: strings.ReplaceAll(frames(delta(`"content":"a"`), stop, done), "\n", "\r\n"),
			want: llm.Answer{Text: "a", FinishReason: "stop", Model: "m-1"}, progress: 1,
		},
		{
			name: "nothing after [DONE] counts", contentType: stream,
			body: frames(delta(`"content":"a"`), done, delta(`"content":"b"`)), want: llm.Answer{Text: "a", Model: "m-1"}, progress: 1,
		},
		{
			name: "cut for length", contentType: stream,
			body: frames(delta(`"content":"a"`), strings.Replace(stop, `"stop"`, `"length"`, 1), done),
			want: llm.Answer{Text: "a", FinishReason: "length", Model: "m-1"}, progress: 1,
		},
		{
			name: "text and reasoning", contentType: stream,
			body: frames(delta(`"reasoning_content":"I think","reasoning":"I think"`), delta(`"content":"so"`), stop, done),
			want: llm.Answer{Text: "so", Reasoning: "I think", FinishReason: "stop", Model: "m-1"}, progress: 2,
		},
		{
			name: "reasoning only", contentType: stream,
			body: frames(delta(`"reasoning":"I ","reasoning_details":[{"type":"reasoning.text","text":"I "}]`), delta(`"reasoning":"think","content":" "`), stop, done),
			want: llm.Answer{Text: "I think", Reasoning: "I think", FinishReason: "stop", Model: "m-1"}, progress: 2,
		},
		{
			name: "reasoning details only", contentType: stream,
			body: frames(delta(`"content":"","reasoning_details":[{"type":"reasoning.text","text":"15"},{"type":"reasoning.encrypted","data":"x"}]`), stop, done),
			want: llm.Answer{Text: "15", Reasoning: "15", FinishReason: "stop", Model: "m-1"}, progress: 1,
		},
		{
			name: "content parts", contentType: stream,
			body: frames(delta(`"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"ok"}]`), stop, done),
			want: llm.Answer{Text: "ok", Reasoning: "hm", FinishReason: "stop", Model: "m-1"}, progress: 1,
		},
		{
			name: "long reasoning", contentType: stream,
			body: frames(delta(`"reasoning":"`+strings.Repeat("語", 9000)+`"`), stop, done),
			want: llm.Answer{Text: strings.Repeat("語", 8000), Reasoning: strings.Repeat("語", 8000), FinishReason: "stop", Model: "m-1"}, progress: 1,
		},
		{
			name: "refusal", contentType: stream,
			body: frames(delta(`"content":null,"refusal":"I can"`), delta(`"refusal":"not"`), stop, done),
			want: llm.Answer{Refusal: "I cannot", FinishReason: "stop", Model: "m-1"},
		},
		{
			name: "wrong types", contentType: stream,
			body: frames(`{"model":7,"choices":[{"index":0,"delta":{"content":5,"reasoning":{},"refusal":[]},"finish_reason":3}]}`, `{"choices":[{"index":1,"delta":{"content":"other"}},{"index":0,"delta":{"content":"a"}}]}`, done),
			want: llm.Answer{Text: "a"}, progress: 1,
		},
		{
			name: "JSON", contentType: object,
			body:     `{"model":"m-1","choices":[{"index":0,"message":{"role":"assistant","content":"Hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":30,"completion_tokens":4}}`,
			want:     llm.Answer{Text: "Hello", FinishReason: "stop", Usage: counted, Model: "m-1"},
			progress: 1,
		},
		{
			name: "JSON after blank lines, as an event stream", contentType: stream,
			body: strings.Repeat("\n", 100) + `{"choices":[{"message":{"content":"a"}}]}` + "\n", want: llm.Answer{Text: "a"}, progress: 1,
		},

		{name: "empty stream", contentType: stream, err: llm.ErrCut},
		{name: "keep-alives and nothing else", contentType: stream, body: ": ping\n\n: ping\n\n", err: llm.ErrCut},
		{name: "ends in the middle", contentType: stream, body: frames(delta(`"content":"a"`)), want: llm.Answer{Text: "a", Model: "m-1"}, progress: 1, err: llm.ErrCut},
		{name: "ends in a chunk", contentType: stream, body: frames(delta(`"content":"a"`)) + `data: {"choices":[{"del`, want: llm.Answer{Text: "a", Model: "m-1"}, progress: 1, err: llm.ErrCut},
		{name: "[DONE] and nothing else", contentType: stream, body: frames(done), err: llm.ErrEmpty},
		{name: "blank", contentType: stream, body: frames(delta(`"content":" \n"`), stop, usage, done), want: llm.Answer{FinishReason: "stop", Usage: counted, Model: "m-1"}, progress: 1, err: llm.ErrEmpty},
		{name: "no JSON in a chunk", contentType: stream, body: frames(delta(`"content":"a"`), `<html>`, done), want: llm.Answer{Text: "a", Model: "m-1"}, progress: 1, err: llm.ErrMalformed},
		{name: "a page", contentType: "text/html", body: "<html><body>hello</body></html>", err: llm.ErrMalformed},
		{name: "JSON of something else", contentType: object, body: `{"status":"ok"}`, err: llm.ErrMalformed},
		{name: "broken JSON", contentType: object, body: `{"choices":]}`, err: llm.ErrMalformed},
		{name: "cut JSON", contentType: object, body: `{"choices":[{"message":{"content":"a`, err: llm.ErrCut},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			client, url := serve(t, reply(tt.contentType, tt.body))
			progress := 0
			got, err := client.Summarize(t.Context(), llm.Call{URL: url, Model: "m", Prompt: "p"}, func() { progress++ })
			if !errors.Is(err, tt.err) {
				t.Errorf("error %v, want %v", err, tt.err)
			}
			ignoreBlank := cmp.Transformer("trim", strings.TrimSpace)
			if diff := cmp.Diff(tt.want, got, ignoreBlank); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if progress != tt.progress {
				t.Errorf("%d times progress, want %d", progress, tt.progress)
			}
		})
	}
}

func TestSummarizeRefused(t *testing.T) {
	const secret = "prompt is too long: 9000 tokens > 8192 maximum"
	tooLong := refusal.Refusal{Kind: refusal.Overflow, Limit: 8192, Actual: 9000}
	answer := func(status int, header http.Header, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			for k, v := range header {
				w.Header()[k] = v
			}
			w.WriteHeader(status)
			io.WriteString(w, body)
		}
	}
	tests := []struct {
		name    string
		handler http.HandlerFunc
		want    llm.StatusError
	}{
		{"401", answer(401, nil, `{"error":{"message":"bad key"}}`), llm.StatusError{Status: 401}},
		{"400 overflow", answer(400, nil, `{"error":{"message":"`+secret+`"}}`), llm.StatusError{Status: 400, Refusal: tooLong}},
		{"429 with seconds", answer(429, http.Header{"Retry-After": {" 7 "}}, ""), llm.StatusError{Status: 429, RetryAfter: 7 * time.Second}},
		{"429 with milliseconds", answer(429, http.Header{"Retry-After-Ms": {"1500"}, "Retry-After": {"9"}}, ""), llm.StatusError{Status: 429, RetryAfter: 1500 * time.Millisecond}},
		{"429 with a date", answer(429, http.Header{"Date": {"Wed, 21 Oct 2015 07:28:00 GMT"}, "Retry-After": {"Wed, 21 Oct 2015 07:30:00 GMT"}}, ""), llm.StatusError{Status: 429, RetryAfter: 2 * time.Minute}},
		{"429 with a date gone by", answer(429, http.Header{"Retry-After": {"Wed, 21 Oct 2015 07:30:00 GMT"}}, ""), llm.StatusError{Status: 429}},
		{"429 with nonsense", answer(429, http.Header{"Retry-After": {"soon"}}, ""), llm.StatusError{Status: 429}},
		{"429 negative", answer(429, http.Header{"Retry-After": {"-5"}}, ""), llm.StatusError{Status: 429}},
		{"429 not a number", answer(429, http.Header{"Retry-After": {"NaN"}}, ""), llm.StatusError{Status: 429}},
		{"429 for ever", answer(429, http.Header{"Retry-After": {"1e300"}}, ""), llm.StatusError{Status: 429, RetryAfter: 24 * time.Hour}},
		{"500", answer(500, nil, strings.Repeat("x", 1<<20)), llm.StatusError{Status: 500}},
		{"error in the stream", answer(200, nil, frames(delta(`"content":"a"`), `{"error":{"message":"`+secret+`","code":400}}`, done)), llm.StatusError{Status: 400, Refusal: tooLong}},
		{"error without a number", answer(200, nil, frames(`{"error":{"message":"no","code":"server_error"}}`)), llm.StatusError{Status: 200}},
		{"rate limit in the stream", answer(200, http.Header{"Retry-After": {"3"}}, frames(`{"error":{"message":"slow down","code":429}}`)), llm.StatusError{Status: 429, RetryAfter: 3 * time.Second}},
		{"error event of another form", answer(200, nil, "event: error\ndata: "+secret+"\n\n"), llm.StatusError{Status: 200, Refusal: tooLong}},
		{"error as the finish reason", answer(200, nil, frames(strings.Replace(stop, `"stop"`, `"error"`, 1), done)), llm.StatusError{Status: 200}},
		{"error instead of JSON", answer(200, nil, `{"error":{"message":"`+secret+`","code":400}}`), llm.StatusError{Status: 400, Refusal: tooLong}},
		{"redirect", answer(302, http.Header{"Location": {"http://127.0.0.1:1/"}}, ""), llm.StatusError{Status: 302}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			client, url := serve(t, tt.handler)
			_, err := client.Summarize(t.Context(), llm.Call{URL: url, Model: "m", Prompt: "p"}, nil)
			var got *llm.StatusError
			if !errors.As(err, &got) {
				t.Fatalf("got %v, want a StatusError", err)
			}
			if diff := cmp.Diff(&tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if s := err.Error(); !strings.Contains(s, fmt.Sprint(tt.want.Status)) || strings.Contains(s, "prompt") || strings.Contains(s, "key") {
				t.Errorf("the error says %q", s)
			}
		})
	}
}

func TestSummarizeTooLong(t *testing.T) {
	long := strings.Repeat("x", 60)
	tests := map[string]string{
		"stream":      frames(delta(`"content":"`+long+`"`), delta(`"content":"`+long+`"`), stop, done),
		"one chunk":   frames(delta(`"content":"`+long+long+`"`), stop, done),
		"JSON":        `{"choices":[{"message":{"content":"` + long + long + `"},"finish_reason":"stop"}]}`,
		"huge event":  "data: " + strings.Repeat("x", 5<<20),
		"huge object": `{"choices":[` + strings.Repeat(" ", 5<<20),
	}
	for name, body := range tests {
		t.Run(name, func(t *testing.T) {
			client, url := serve(t, reply("text/event-stream", body))
			got, err := client.Summarize(t.Context(), llm.Call{URL: url, MaxAnswer: 100}, nil)
			if !errors.Is(err, llm.ErrTooLong) || len(got.Text) > 100 {
				t.Errorf("got %d bytes, %v", len(got.Text), err)
			}
		})
	}
}

// A server that closes the connection in the middle must not look complete.
func TestSummarizeConnectionBreaks(t *testing.T) {
	for name, tt := range map[string]struct {
		body string
		err  error
	}{
		"before the end":          {frames(delta(`"content":"a"`)), llm.ErrCut},
		"after the finish reason": {frames(delta(`"content":"a"`), stop), nil},
	} {
		t.Run(name, func(t *testing.T) {
			client, url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				io.WriteString(w, tt.body)
				w.(http.Flusher).Flush()
				panic(http.ErrAbortHandler)
			})
			got, err := client.Summarize(t.Context(), llm.Call{URL: url}, nil)
			if !errors.Is(err, tt.err) || got.Text != "a" {
				t.Errorf("got %q, %v, want %v", got.Text, err, tt.err)
			}
		})
	}
}

var errStalled = errors.New("the model is silent")

func TestSummarizeEndsWithTheContextsCause(t *testing.T) {
	for name, begin := range map[string]string{"before the head": "", "in the answer": frames(delta(`"content":"a"`))} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			client, url := serve(t, func(w http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body)
				if begin == "" {
					cancel(errStalled)
				} else {
					io.WriteString(w, begin)
					w.(http.Flusher).Flush()
				}
				<-r.Context().Done()
			})
			_, err := client.Summarize(ctx, llm.Call{URL: url + "?key=secret"}, func() { cancel(errStalled) })
			if !errors.Is(err, errStalled) {
				t.Errorf("got %v, want the cause", err)
			}
			if strings.Contains(fmt.Sprint(err), "secret") {
				t.Errorf("the error holds the query: %v", err)
			}
		})
	}
}

func TestSummarizeNoServer(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	s.Close()
	client := llm.NewClient(nil)
	for _, url := range []string{s.URL + "/?key=secret", "http://secret\x7f/", "ftp://secret/", ""} {
		_, err := client.Summarize(t.Context(), llm.Call{URL: url}, nil)
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", url, err)
		}
	}
}

// lingering is a server that has said everything and does not hang up.
type lingering struct{ body string }

func (l lingering) RoundTrip(r *http.Request) (*http.Response, error) {
	read, write := io.Pipe()
	context.AfterFunc(r.Context(), func() { write.CloseWithError(context.Cause(r.Context())) })
	go io.WriteString(write, l.body)
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: read, Request: r}, nil
}

func TestSummarizeDoesNotWaitForAServerThatLingers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := llm.NewClient(lingering{frames(delta(`"content":"a"`), stop, usage)})
		start := time.Now()
		got, err := client.Summarize(t.Context(), llm.Call{URL: "http://model.test/"}, nil)
		if err != nil || got.Text != "a" || got.Usage.PromptTokens != 30 {
			t.Errorf("got %+v, %v", got, err)
		}
		if waited := time.Since(start); waited <= 0 || waited > 10*time.Second {
			t.Errorf("waited %v", waited)
		}
	})
}
