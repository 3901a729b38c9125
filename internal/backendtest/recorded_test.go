package backendtest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// testdata is the folder of recordings, which is not part of the repository.
func testdata(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("FOLDGATE_TESTDATA")
	if dir == "" {
		t.Skip("FOLDGATE_TESTDATA is not set")
	}
	return dir
}

func backendNamed(t *testing.T, name string) Backend {
	t.Helper()
	for _, b := range All() {
		if strings.HasPrefix(b.Name, name) {
			return b
		}
	}
	t.Fatalf("there is no backend %s", name)
	return Backend{}
}

// traits are what a client can tell of a stream's framing.
type traits struct {
	comments, events, done, firstWithoutChoices bool
	usageAlone, usageWithReason                 bool
	timings                                     bool
}

func traitsOf(t *testing.T, stream string) traits {
	t.Helper()
	var got traits
	first := true
	for line := range strings.SplitSeq(strings.ReplaceAll(stream, "\r\n", "\n"), "\n") {
		got.comments = got.comments || strings.HasPrefix(line, ":")
		got.events = got.events || strings.HasPrefix(line, "event:")
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		if data == "[DONE]" {
			got.done = true
			continue
		}
		var chunk struct {
			Choices []json.RawMessage
			Usage   *json.RawMessage
			Timings *json.RawMessage
		}
		if err := json.Unmarshal([]byte(data), &chunk); err != nil {
			t.Fatalf("a chunk is no JSON: %v: %.200s", err, data)
		}
		if first {
			got.firstWithoutChoices, first = len(chunk.Choices) == 0, false
			continue
		}
		if chunk.Usage != nil && string(*chunk.Usage) != "null" {
			got.usageAlone = got.usageAlone || len(chunk.Choices) == 0
			got.usageWithReason = got.usageWithReason || len(chunk.Choices) > 0
		}
		got.timings = got.timings || chunk.Timings != nil
	}
	return got
}

// The framing of these backends is that of what was recorded of them.
func TestFramingIsAsRecorded(t *testing.T) {
	dir := filepath.Join(testdata(t), "sse")
	for file, name := range map[string]string{
		"openai-text-usage": "OpenAI", "azure-text-filter": "Azure", "crusoe-text-usage": "vLLM", "llamacpp-gptoss-reasoning-tool": "llama.cpp",
		"deepseek-reasoning-stream": "DeepSeek", "openrouter-openai-parallel-tools": "OpenRouter", "mistral-text-usage": "Mistral",
		"groq-kimi-parallel-tools": "Groq",
	} {
		raw, err := os.ReadFile(filepath.Join(dir, file+".sse"))
		if err != nil {
			t.Fatal(err)
		}
		b := backendNamed(t, name)
		want := traitsOf(t, string(raw))
		got := traitsOf(t, strings.Join(b.frames.stream(b, usage{10, 5}, true), ""))
		if name == "llama.cpp" || name == "DeepSeek" {
			got.comments = false // they come where it takes long, and it did not
		}
		if got != want {
			t.Errorf("%s: %+v, recorded %+v", name, got, want)
		}
	}
	raw, err := os.ReadFile(filepath.Join(dir, "groq-error-inside-200-stream.sse"))
	if err != nil {
		t.Fatal(err)
	}
	b := backendNamed(t, "Groq")
	frames := b.frames.stream(b, usage{10, 5}, true)
	got := traitsOf(t, strings.Join(append(frames[:3], b.broken()...), ""))
	if want := traitsOf(t, string(raw)); got != want {
		t.Errorf("Groq, broken off: %+v, recorded %+v", got, want)
	}
}

var (
	digits = regexp.MustCompile(`[0-9]+`)
	spaces = regexp.MustCompile(`\s+`)
)

// The errors of an overflow are word for word those that people were shown, but
// for their numbers.
func TestOverflowsAreAsRecorded(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(testdata(t), "errors", "errors.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Errors []struct {
			ID     string
			Status int
			Body   json.RawMessage
		}
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, e := range file.Errors {
		want, ok := map[string]struct {
			backend string
			output  int
		}{
			"openai-context-messages": {"OpenAI", 0}, "deepseek-context": {"DeepSeek", 100}, "groq-context": {"Groq", 0},
			"openrouter-context": {"OpenRouter", 0}, "gemini-context-object": {"Gemini", 0}, "anthropic-context": {"Anthropic", 0},
		}[e.ID]
		if !ok {
			continue
		}
		seen++
		b := backendNamed(t, want.backend)
		a := b.Overflow(4000, 5000, want.output)
		if a.Status != e.Status {
			t.Errorf("%s: status %d, recorded %d", b.Name, a.Status, e.Status)
		}
		if got, recorded := messageOf(t, []byte(a.Body)), messageOf(t, e.Body); got != recorded {
			t.Errorf("%s:\ngot      %s\nrecorded %s", b.Name, got, recorded)
		}
	}
	if seen < 6 {
		t.Errorf("%d of the recorded errors were found", seen)
	}
}

// messageOf is the message of an error, whatever wraps it, without its numbers.
func messageOf(t *testing.T, body []byte) string {
	t.Helper()
	var one struct{ Error struct{ Message string } }
	if json.Unmarshal(body, &one) != nil {
		var list []struct{ Error struct{ Message string } }
		if err := json.Unmarshal(body, &list); err != nil || len(list) != 1 {
			t.Fatalf("no error: %s", body)
		}
		one.Error = list[0].Error
	}
	return spaces.ReplaceAllString(digits.ReplaceAllString(one.Error.Message, "N"), " ")
}
