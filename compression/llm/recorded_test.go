package llm_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/foldgate/foldgate/compression/llm"
)

// TestSummarizeRecordedStreams replays real streams in small pieces.
func TestSummarizeRecordedStreams(t *testing.T) {
	folder := os.Getenv("FOLDGATE_TESTDATA")
	if folder == "" {
		t.Skip("FOLDGATE_TESTDATA is not set")
	}
	b, err := os.ReadFile(filepath.Join(folder, "sse", "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	var index []struct {
		File          string
		ToolCalls     int      `json:"tool_calls"`
		UsageChunks   int      `json:"usage_chunks"`
		FinishReasons []string `json:"finish_reasons"`
		Model         []string
	}
	if err := json.Unmarshal(b, &index); err != nil || len(index) == 0 {
		t.Fatal(err, len(index))
	}
	for _, entry := range index {
		t.Run(entry.File, func(t *testing.T) {
			stream, err := os.ReadFile(filepath.Join(folder, "sse", entry.File))
			if err != nil {
				t.Fatal(err)
			}
			client, url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				for piece := range slices.Chunk(stream, 1000) {
					w.Write(piece)
					w.(http.Flusher).Flush()
				}
			})
			progress := 0
			got, err := client.Summarize(t.Context(), llm.Call{URL: url}, func() { progress++ })
			var status *llm.StatusError
			switch {
			case strings.Contains(entry.File, "error"):
				if !errors.As(err, &status) {
					t.Fatalf("got %v, want a StatusError", err)
				}
				return
			case entry.ToolCalls > 0 && errors.Is(err, llm.ErrEmpty): // tool calls and nothing else
			case err != nil:
				t.Fatal(err)
			case progress == 0:
				t.Error("no progress")
			}
			if len(entry.FinishReasons) > 0 && !slices.Contains(entry.FinishReasons, got.FinishReason) {
				t.Errorf("finish reason %q, the index has %q", got.FinishReason, entry.FinishReasons)
			}
			if len(entry.Model) > 0 && !slices.Contains(entry.Model, got.Model) {
				t.Errorf("model %q, the index has %q", got.Model, entry.Model)
			}
			if entry.UsageChunks > 0 && got.Usage.PromptTokens == 0 {
				t.Error("no usage")
			}
		})
	}
}
