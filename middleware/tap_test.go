package middleware

import (
	"net/http"
	"strings"
	"testing"

	"github.com/foldgate/foldgate/compression/refusal"
)

func TestUsageTap(t *testing.T) {
	stream := http.Header{"Content-Type": {"text/event-stream"}}
	object := http.Header{"Content-Type": {"application/json"}}
	const usage = `"usage":{"prompt_tokens":12,"completion_tokens":3,"total_tokens":15}`
	want := refusal.Usage{PromptTokens: 12, CompletionTokens: 3}
	long := strings.Repeat("x", 3*tapWindow)
	tests := []struct {
		name   string
		header http.Header
		body   string
		ok     bool
	}{
		{"stream", stream, "data: {\"choices\":[]}\n\n: c\n\ndata: {\"choices\":[]," + usage + "}\n\ndata: [DONE]\n\n", true},
		{"stream, the last one counts", stream, "data: {\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":1}}\n\ndata: {" + usage + "}\n\n", true},
		{"stream, null at the end", stream, "data: {" + usage + "}\n\ndata: {\"usage\":null}\n\n", true},
		{"stream, no last blank line", stream, "data: {" + usage + "}", true},
		{"stream, long event before", stream, "data: " + long + "\n\ndata: {" + usage + "}\n\n", true},
		{"stream without", stream, "data: {}\n\ndata: [DONE]\n\n", false},
		{"object", object, `{"choices":[],` + usage + `}`, true},
		{"long object", object, `{"choices":["` + long + `"],` + usage + `}`, true},
		{"long object, usage in its text", object, `{"a":"\"usage\":{\"prompt_tokens\":99}` + long + `",` + usage + `}`, true},
		{"long object, usage first", object, `{` + usage + `,"a":"` + long + `"}`, false},
		{"object without", object, `{}`, false},
		{"broken", object, `{"usage":`, false},
		{"empty", object, ``, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, n := range []int{1, 7, 100_000, 1 << 20} {
				tap := newUsageTap(tt.header)
				for rest := tt.body; rest != ""; {
					cut := min(n, len(rest))
					tap.Write([]byte(rest[:cut]))
					rest = rest[cut:]
				}
				got, ok := tap.Usage()
				if ok != tt.ok || ok && got != want {
					t.Errorf("in pieces of %d: got %v, %v; want %v, %v", n, got, ok, want, tt.ok)
				}
				if cap(tap.tail) > 8*tapWindow {
					t.Errorf("keeps %d bytes", cap(tap.tail))
				}
			}
		})
	}
}

// What lies before a gap is not joined to what lies behind it.
func TestUsageTapForgetsBeforeALongPiece(t *testing.T) {
	tap := newUsageTap(http.Header{})
	tap.Write([]byte(`{"usage":{"prompt_tokens":1,"completion_tokens":1},"a":"`))
	tap.Write([]byte(strings.Repeat("x", 3*tapWindow)))
	tap.Write([]byte(`"}`))
	if doc := tap.document(); doc != nil {
		t.Errorf("found %q", doc)
	}
}

func TestUsageTapOfACodedAnswer(t *testing.T) {
	tap := newUsageTap(http.Header{"Content-Encoding": {"gzip"}})
	tap.Write([]byte("x"))
	if _, ok := tap.Usage(); ok || tap != nil {
		t.Error("a coded answer was observed")
	}
}
