package backendtest_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/foldgate/foldgate/internal/backendtest"
)

func ask(t *testing.T, s *backendtest.Server, path, secret string, body []byte) (status int, answer string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(string(body)))
	if s.Auth != "" {
		r.Header.Set(s.Auth, s.Scheme+secret)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	got, err := io.ReadAll(w.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.Code, string(got)
}

// A server judges in the order of real ones, and answers what it takes.
func TestServersJudgeInOrder(t *testing.T) {
	t.Parallel()
	for _, b := range backendtest.All() {
		s := b.Serve(3000)
		if status, body := ask(t, s, b.Path, backendtest.Secret, b.Small()); status != http.StatusOK || !strings.Contains(body, backendtest.Reply) {
			t.Errorf("%s: %d %s", b.Name, status, body)
		}
		if status, body := ask(t, s, "/nowhere", backendtest.Secret, b.Small()); status != http.StatusNotFound || body == "" {
			t.Errorf("%s, an unknown path: %d %s", b.Name, status, body)
		}
		if status, body := ask(t, s, b.Path, "sk-wrong", []byte("{")); b.Auth != "" && (status != http.StatusUnauthorized || body == "") {
			t.Errorf("%s, a wrong credential: %d %s", b.Name, status, body)
		}
		since := len(s.Exchanges())
		long := b.Conversation(4000, false)
		_, body := ask(t, s, b.Path, backendtest.Secret, long)
		taken := s.Exchanges()[since].Refused == ""
		if taken != b.Silent() || strings.Contains(body, backendtest.Reply) != b.Silent() {
			t.Errorf("%s, too long: %s", b.Name, body)
		}
		if b.Silent() && !strings.Contains(body, `"prompt_tokens":3000,`) {
			t.Errorf("%s reports more than is left of a request: %s", b.Name, body)
		}
	}
}

// A refusal inside an answer of status 200 is one all the same.
func TestServersRefuseInsideAnswers(t *testing.T) {
	t.Parallel()
	inside := 0
	for _, b := range backendtest.All() {
		s := b.Serve(3000)
		status, body := ask(t, s, b.Path, backendtest.Secret, b.Conversation(4000, false, "stream", true))
		if b.Silent() {
			continue
		}
		if b.After200() != (status == http.StatusOK) || strings.Contains(body, "STUB-REPLY") {
			t.Errorf("%s: %d %s", b.Name, status, body)
		}
		if status == http.StatusOK {
			inside++
		}
		s.Distrust("bed 3")
		if _, body := ask(t, s, b.Path, backendtest.Secret, b.Small()); b.Orderly() && strings.Contains(body, "STUB-REPLY") {
			t.Errorf("%s, distrusting: %s", b.Name, body)
		}
	}
	if inside < 4 {
		t.Errorf("%d backends refuse inside an answer", inside)
	}
}
