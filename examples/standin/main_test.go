package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// started is a model that serves until the test ends.
func started(t *testing.T, window int) (url string) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, l, &model{window: window}) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return "http://" + l.Addr().String()
}

func ask(ctx context.Context, t *testing.T, url string, c chat) (*http.Response, error) {
	t.Helper()
	body, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return http.DefaultClient.Do(r)
}

func TestWhatEachModelAnswers(t *testing.T) {
	t.Parallel()
	url := started(t, 1000)
	for _, tc := range []struct {
		model  string
		turns  int
		stream bool
		status int
		says   []string
	}{
		{"stand-in", 1, false, http.StatusOK, []string{"I was sent 4 messages", `"prompt_tokens":`}},
		{"stand-in", 1, true, http.StatusOK, []string{`"content":"I "`, "data: [DONE]"}},
		{"stand-in", 60, false, http.StatusBadRequest, []string{"context_length_exceeded", "maximum context length is 1000 tokens"}},
		{"summary", 60, true, http.StatusOK, []string{`"content":"A "`, "data: [DONE]"}},
		{"broken", 1, false, http.StatusInternalServerError, []string{"out of order"}},
	} {
		c := conversation("garden", tc.turns, tc.stream)
		c.Model = tc.model
		res, err := ask(t.Context(), t, url, c)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil || res.StatusCode != tc.status {
			t.Errorf("%s, %d turns: %d %v, want %d", tc.model, tc.turns, res.StatusCode, err, tc.status)
		}
		for _, text := range tc.says {
			if !strings.Contains(string(body), text) {
				t.Errorf("%s, %d turns: nothing says %q: %s", tc.model, tc.turns, text, body)
			}
		}
	}
}

// A silent model begins an answer, says nothing, and notices that its caller left.
func TestSilentModel(t *testing.T) {
	t.Parallel()
	url := started(t, 1000)
	ctx, leave := context.WithCancel(t.Context())
	res, err := ask(ctx, t, url, chat{Model: "silent", Stream: true})
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatal(res, err)
	}
	leave()
	rest, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if err == nil || strings.Contains(string(rest), "[DONE]") {
		t.Errorf("got %q and %v, want a broken answer", rest, err)
	}
}

func TestModelsAndRequest(t *testing.T) {
	t.Parallel()
	res, err := http.Get(started(t, 1234) + "/v1/models")
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if err != nil || !strings.Contains(string(body), `"max_model_len":1234`) {
		t.Errorf("got %s %v", body, err)
	}
	var out, problems strings.Builder
	if err := run(t.Context(), []string{"request", "-turns", "2", "-topic", "pond", "-stream"}, &out, &problems); err != nil {
		t.Fatal(err, problems.String())
	}
	var c chat
	if err := json.Unmarshal([]byte(out.String()), &c); err != nil || len(c.Messages) != 6 || !c.Stream || c.Messages[0].Content != "You help to plan a pond." {
		t.Errorf("got %s %v", out.String(), err)
	}
}
