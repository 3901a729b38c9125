package compression_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/foldgate/foldgate/compression"
	"github.com/foldgate/foldgate/compression/redact"
	"github.com/foldgate/foldgate/compression/window"
)

// notesLine is what every line of notes begins with, but for those of an earlier
// handoff and of the index.
var notesLine = regexp.MustCompile(`^(?:user(?: [^:]*)?|assistant|tool|call|other): |^- `)

// Whatever was said, notes keep their limit and their form, hold no secret that
// can be recognised, and are the same when they are written again.
func FuzzNotes(f *testing.F) {
	f.Add("plain words. And more!\n\nA line", "name", uint8(30))
	f.Add("{\"a\":[1,2,{\"b\":\"c\\u2028\"}],\"x\":\"Error: y\"}", "a: b\nuser", uint8(9))
	f.Add("\x1b[31mFAIL\x1b[0m a/b.go:7\n\xff\xfe…。！नमस्ते 你好 こんにちは", "", uint8(60))
	f.Add(strings.Repeat("QUJD/+", 300)+" What the user asked:\n- x | y", "-", uint8(45))
	f.Add("[Summary of the earlier conversation]\n…\n[End of the summary; the conversation goes on here]", "n", uint8(25))
	f.Add(strings.Repeat("QUJD/+", 180), "#", uint8(0))
	f.Fuzz(func(t *testing.T, text, name string, share uint8) {
		if len(text) > 64<<10 || len(name) > 1<<10 {
			t.Skip("too long to be quick")
		}
		body := before(flat(
			[]string{said("user", text), `{"role":"user","name":` + quote(name) + `,"content":` + quote(text) + `}`},
			tool(1, name, text, text), tool(2, "run", `{"q":`+quote(text)+`}`, text+"\nexit status 1"), tool(3, "run", `{}`, text),
			[]string{said("assistant", text), `{"role":` + quote("x"+name) + `,"content":[{"type":` + quote(name) + `},{"type":"text","text":` + quote(text) + `}]}`},
		)...)
		r, err := parseAny(body)
		if err != nil {
			t.Skip(err)
		}
		v := compression.NewMemo(1 << 8).View(r)
		b := budget(int(v.Total()) * 3 / 4)
		b.Deterministic = max(1, b.Usable*window.Tokens(share%100)/100) // zero names no share
		h := v.Deterministic(b, settings(), nil)
		if h.Covered == 0 {
			return
		}
		if again := compression.NewMemo(1<<8).View(r).Deterministic(b, settings(), nil); again != h {
			t.Fatalf("another text:\n%s\nafter\n%s", again.Text, h.Text)
		}
		notes, ok := compression.Body(h.Text)
		if n := v.TextTokens(h.Text); !ok || n > b.Deterministic && notes != "Nothing of it was kept." {
			t.Fatalf("%d of %d tokens, framed %v:\n%s", n, b.Deterministic, ok, h.Text)
		}
		for line := range strings.Lines(notes) {
			line = strings.TrimSuffix(line, "\n")
			if redact.Text(line) != line {
				t.Fatalf("a secret: %q", line)
			}
			switch {
			case line == "Names and numbers that came up:", line == "Earlier notes:":
				return
			case line == "", line == "What the user asked:", line == "What was said and done, in order:", line == "Nothing of it was kept.":
			case !notesLine.MatchString(line):
				t.Fatalf("no label: %q", line)
			}
		}
	})
}
