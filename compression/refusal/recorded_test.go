package refusal_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/foldgate/foldgate/compression/refusal"
	"github.com/foldgate/foldgate/compression/sse"
)

// recordedError is one entry of the collection of real errors.
type recordedError struct {
	ID, Category string
	Status       int
	Stream       bool
	Body         json.RawMessage
	Raw          string
}

// classify reads the entry as the gateway would meet it.
func (e recordedError) classify() refusal.Refusal {
	if e.Raw == "" {
		return refusal.Classify(e.Status, e.Body)
	}
	var got refusal.Refusal
	emit := func(ev sse.Event) {
		if r := refusal.InStream(ev.Data); r.Kind != refusal.None {
			got = r
		}
	}
	p := sse.NewParser(0)
	p.Write([]byte(e.Raw), emit)
	p.Close(emit)
	return got
}

// silent are those whose bytes do not say what they are.
var silent = map[string]bool{"llamacpp-empty-stream": true}

// outputs are those in which the output alone leaves less than a quarter of the
// window.
var outputs = map[string]bool{"openrouter-context-output": true, "vllm-context-max-tokens": true}

func TestClassifyRecordedErrors(t *testing.T) {
	folder := os.Getenv("FOLDGATE_TESTDATA")
	if folder == "" {
		t.Skip("FOLDGATE_TESTDATA is not set")
	}
	b, err := os.ReadFile(filepath.Join(folder, "errors", "errors.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Errors []recordedError }
	if err := json.Unmarshal(b, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Errors) == 0 {
		t.Fatal("no errors in the file")
	}
	right := 0
	for _, e := range file.Errors {
		want := refusal.None
		switch {
		case silent[e.ID]:
		case outputs[e.ID]:
			want = refusal.OutputCap
		case e.Category == "context_overflow", e.Category == "context_overflow_with_completion":
			want = refusal.Overflow
		}
		got := e.classify()
		if got.Kind == want {
			right++
		} else {
			t.Errorf("%s (%s): got %+v, want %v", e.ID, e.Category, got, want)
		}
		t.Logf("%-45s %-34s %+v", e.ID, e.Category, got)
	}
	t.Logf("%d of %d are right", right, len(file.Errors))
}

func TestReadUsageRecordedStreams(t *testing.T) {
	folder := os.Getenv("FOLDGATE_TESTDATA")
	if folder == "" {
		t.Skip("FOLDGATE_TESTDATA is not set")
	}
	b, err := os.ReadFile(filepath.Join(folder, "sse", "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	var index []struct {
		File        string
		UsageChunks int `json:"usage_chunks"`
	}
	if err := json.Unmarshal(b, &index); err != nil {
		t.Fatal(err)
	}
	for _, entry := range index {
		stream, err := os.ReadFile(filepath.Join(folder, "sse", entry.File))
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		var last refusal.Usage
		emit := func(e sse.Event) {
			if u, ok := refusal.ReadUsage(e.Data); ok {
				found, last = found+1, u
			}
		}
		p := sse.NewParser(0)
		p.Write(stream, emit)
		p.Close(emit)
		if (found > 0) != (entry.UsageChunks > 0) {
			t.Errorf("%s: usage in %d chunks, the index says %d", entry.File, found, entry.UsageChunks)
		}
		if found > 0 && last.PromptTokens == 0 {
			t.Errorf("%s: no prompt tokens in %+v", entry.File, last)
		}
	}
}
