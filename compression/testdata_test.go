package compression_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foldgate/foldgate/compression"
)

// realRequests calls visit for every recorded request, with a user's question at
// the end where the recording ends with an assistant.
func realRequests(t *testing.T, visit func(t *testing.T, name, body string)) {
	t.Helper()
	eachRequest(t, func(name, body string) {
		r := parse(t, body)
		if last := r.Messages[len(r.Messages)-1]; last.RoleName == "assistant" {
			at := r.Envelope.Messages.End - 1
			body = body[:at] + "," + said("user", "What was decided about the first point?") + body[at:]
		}
		t.Run(name, func(t *testing.T) { visit(t, name, body) })
	})
}

// eachRequest calls visit for every recorded request as it is.
func eachRequest(t *testing.T, visit func(name, body string)) {
	t.Helper()
	dir := os.Getenv("FOLDGATE_TESTDATA")
	if dir == "" {
		t.Skip("FOLDGATE_TESTDATA is not set")
	}
	files, err := filepath.Glob(filepath.Join(dir, "requests", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no requests in %s: %v", dir, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		if strings.HasSuffix(name, ".facts") {
			continue
		}
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		visit(name, string(raw))
	}
}

// history is a recorded request, taken apart.
type history struct {
	name          string
	before, after string // around the array of messages
	messages      []string
}

// String keeps a failed draw short.
func (h history) String() string { return h.name }

// realMessages are all recorded requests.
func realMessages(t *testing.T) []history {
	t.Helper()
	var out []history
	eachRequest(t, func(name, body string) {
		r := parse(t, body)
		h := history{name: name, before: body[:r.Envelope.Messages.Start], after: body[r.Envelope.Messages.End:]}
		for i := range r.Messages {
			h.messages = append(h.messages, string(r.Raw(i)))
		}
		out = append(out, h)
	})
	return out
}

func TestRealRequests(t *testing.T) {
	memo := compression.NewMemo(1 << 14)
	realRequests(t, func(t *testing.T, name, body string) {
		v := memo.View(parse(t, body))
		total := int(v.Total())
		low, high := v.Bounds()
		if int(low) > total || total > int(high) {
			t.Errorf("bounds %d..%d, total %d", low, high, total)
		}
		for _, share := range []int{50, 20, 80}[:either(3, 1)] {
			b := budget(total * share / 100)
			h := v.Deterministic(b, settings(), nil)
			f, err := v.Fold(h, b)
			if err != nil {
				t.Fatalf("%d %%: %v", share, err)
			}
			judge(t, body, f, h, b)
			t.Logf("%d %%: %d -> %d of %d usable, covered %d of %d, shrunk %d, handoff %d", share, total, f.Tokens, b.Usable, f.Covered, v.Len(), f.Shrunk, len(h.Text))
			if !f.Fits && share >= 50 {
				t.Errorf("%d %%: does not fit: %d of %d", share, f.Tokens, b.Usable)
			}
			if covered, ok := v.Target(b, settings(), 0); ok {
				prompt := v.Prompt(nil, covered, b)
				if len(prompt) > 200_000 {
					t.Errorf("the prompt has %d bytes", len(prompt))
				}
				h, err := v.Accept(compression.Answer{Text: "## Task\nContinue. " + words(7, 30), FinishReason: "stop"}, nil, covered, b)
				if err != nil {
					t.Fatalf("%d %%: %v", share, err)
				}
				f, err := v.Fold(h, b)
				if err != nil || !f.Fits {
					t.Errorf("%d %% with a model: %v, %d of %d", share, err, f.Tokens, b.Usable)
				}
				judge(t, body, f, h, b)
			} else if share >= 50 && !strings.Contains(name, "log-giant") {
				t.Errorf("%d %%: nothing to fold", share)
			}
		}
		if dir := os.Getenv("FOLDGATE_SHOW"); dir != "" {
			h := v.Deterministic(budget(total/2), settings(), nil)
			_ = os.WriteFile(filepath.Join(dir, name+".txt"), []byte(h.Text), 0o600)
			p, _ := v.Target(budget(total/2), settings(), 0)
			_ = os.WriteFile(filepath.Join(dir, name+".prompt.txt"), fmt.Appendln(nil, v.Prompt(nil, p, budget(total/2))), 0o600)
		}
	})
}
