package middleware_test

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foldgate/foldgate/compression/window"
	"github.com/foldgate/foldgate/internal/backendtest"
)

// TestBackendsTakeRecordedConversations folds recorded conversations in front of
// every backend, each in its dialect: a strict one gets all that it takes before,
// the others the first two. What a backend would not take unfolded either is no
// case of it, and one that takes none is a failure.
func TestBackendsTakeRecordedConversations(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(testdata(t), "requests", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no requests: %v", err)
	}
	for _, b := range backendtest.All() {
		t.Run(b.Slug(), func(t *testing.T) {
			taken, refused := 0, 0
			for _, file := range files {
				name := strings.TrimSuffix(filepath.Base(file), ".json")
				if strings.HasSuffix(name, ".facts") || strings.HasPrefix(name, "log-giant") {
					continue
				}
				if !b.Strict && taken == 2 || raceEnabled && taken == 1 { // all of them in "make long"
					break
				}
				body, err := b.Adapt(endingWithUser(t, file))
				if err != nil || b.Check(body) != nil {
					refused++
					continue
				}
				taken++
				recordedBehind(t, b, name, body)
			}
			if taken == 0 {
				t.Errorf("it takes none of %d conversations before they are folded", refused)
			}
			t.Logf("%d taken before and after, %d not taken before", taken, refused)
		})
	}
}

// recordedBehind folds one conversation to less than half its size.
func recordedBehind(t *testing.T, b backendtest.Backend, name string, body []byte) {
	t.Helper()
	total := countOf(t, body) / 2
	x := inFrontOf(t, b, 0, func(o *options) {
		o.window = window.BookConfig{Rules: []window.Rule{{Total: total}}}
	})
	a := x.through(t, body)
	if a.status != http.StatusOK || a.fold() != "committed" && a.fold() != "fallback" {
		t.Errorf("%s: %d %s: %.300s", name, a.status, foldOf(a), a.body)
		return
	}
	e := x.taken(t, 0)
	if refusal := b.Check(e.Body); refusal != nil {
		t.Errorf("%s: refused when folded: %s", name, refusal.Body)
	}
	for _, breach := range brokenRules(body, e.Body) {
		t.Errorf("%s: %s", name, breach)
	}
	if n := countOf(t, e.Body); n > total {
		t.Errorf("%s: forwarded %d tokens, the window is %d", name, n, total)
	}
}
