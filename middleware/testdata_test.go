package middleware_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/foldgate/foldgate/compression"
	"github.com/foldgate/foldgate/compression/chat"
	"github.com/foldgate/foldgate/compression/window"
)

// testdata is the folder of real conversations and recordings, which is not part
// of the repository. The Makefile counts the tests that skip for want of it.
func testdata(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("FOLDGATE_TESTDATA")
	if dir == "" {
		t.Skip("FOLDGATE_TESTDATA is not set")
	}
	return dir
}

// TestRealConversationsFit sends every recorded conversation through a gateway
// whose window is a share of its size, with a summarizer and without.
func TestRealConversationsFit(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(testdata(t), "requests", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no requests: %v", err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, ".facts.json") {
			continue
		}
		body := endingWithUser(t, file)
		size := countOf(t, body)
		for _, share := range []int{50, 80} {
			for name, summarizer := range map[string]func(http.ResponseWriter, *http.Request, stubCall){
				"model": answerSummary(summaryText), "no model": answerStatus(500, "{}"),
			} {
				t.Run(filepath.Base(file)+"/"+strconv.Itoa(share)+"%/"+name, func(t *testing.T) {
					total := size * window.Tokens(share) / 100
					g := newGateway(t, options{
						sum:    newStub(t, summarizer),
						window: window.BookConfig{Rules: []window.Rule{{Total: total}}},
					})
					a := g.post(t, body)
					if a.status != 200 {
						t.Fatalf("got %d %s: %s", a.status, a.header.Get("Foldgate-Fold"), a.body)
					}
					if want := map[string]string{"model": "committed", "no model": "fallback"}[name]; a.fold() != want {
						t.Errorf("Foldgate-Fold: %s, want %s", a.header.Get("Foldgate-Fold"), want)
					}
					forwarded := g.up.last(t).Body
					for _, breach := range brokenRules(body, forwarded) {
						t.Error(breach)
					}
					if n := countOf(t, forwarded); n > total {
						t.Errorf("forwarded %d tokens, the window is %d", n, total)
					}
				})
			}
		}
	}
}

// endingWithUser reads a request, adding a user message where it ends without.
func endingWithUser(t *testing.T, file string) []byte {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var r map[string]json.RawMessage
	var messages []json.RawMessage
	var last struct{ Role string }
	if err := json.Unmarshal(raw, &r); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(r["messages"], &messages); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(messages[len(messages)-1], &last); err != nil {
		t.Fatal(err)
	}
	if last.Role == "user" {
		return raw
	}
	messages = append(messages, json.RawMessage(`{"role":"user","content":"What did we find out so far?"}`))
	r["messages"], _ = json.Marshal(messages)
	out, _ := json.Marshal(r)
	return out
}

func countOf(t *testing.T, body []byte) window.Tokens {
	t.Helper()
	e, err := chat.ReadEnvelope(body)
	if err != nil {
		t.Fatal(err)
	}
	req, err := chat.Parse(body, e)
	if err != nil {
		t.Fatal(err)
	}
	return compression.NewMemo(1000).View(req).Total()
}

// TestRecordedStreamsPassByteForByte sends recorded streams through the whole
// gateway, of a conversation that was folded, cut into chunks of several sizes.
func TestRecordedStreamsPassByteForByte(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(testdata(t), "sse", "*.sse"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no streams: %v", err)
	}
	g := newGateway(t, options{})
	small := request([]msg{{"role": "user", "content": "hi"}}, "stream", true)
	folded := request(talk("sse", 24), "stream", true)
	g.post(t, folded) // from here on it is held and reused
	for _, file := range files {
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, size := range []int{1, 7, 100, 4096, len(want)} {
			t.Run(filepath.Base(file)+"/"+strconv.Itoa(size), func(t *testing.T) {
				g.up.setAnswer(inChunks(want, size))
				for name, body := range map[string]any{"small": small, "folded": folded} {
					a := g.post(t, body)
					if string(a.body) != string(want) {
						t.Errorf("%s: got %d bytes, want %d", name, len(a.body), len(want))
					}
				}
			})
		}
	}
}

func inChunks(b []byte, size int) func(http.ResponseWriter, *http.Request, stubCall) {
	return func(w http.ResponseWriter, _ *http.Request, _ stubCall) {
		w.Header().Set("Content-Type", "text/event-stream")
		for at := 0; at < len(b); at += size {
			_, _ = w.Write(b[at:min(at+size, len(b))])
			_ = http.NewResponseController(w).Flush()
		}
	}
}
