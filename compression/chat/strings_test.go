package chat_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/foldgate/foldgate/compression/chat"
)

func TestQuote(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"empty", "", `""`},
		{"plain", "abc", `"abc"`},
		{"must be escaped", "\"\\\b\f\n\r\t\x00\x1f", `"\"\\\b\f\n\r\t\u0000\u001f"`},
		{"need not be escaped", "/<>&'\x7f\u2028é😀", "\"/<>&'\x7f\u2028é😀\""},
		{"invalid bytes", "a\xff\xfeb", `"a\ufffd\ufffdb"`},
		{"cut short", "é"[:1], `"\ufffd"`},
		{"surrogate as bytes", "\xed\xa0\x80", `"\ufffd\ufffd\ufffd"`},
		{"the replacement character itself", "\ufffd", "\"\ufffd\""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(chat.Quote(nil, tt.text)); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			inner := string(chat.QuoteInner([]byte("x"), tt.text))
			if want := "x" + tt.want[1:len(tt.want)-1]; inner != want {
				t.Errorf("inner: got %s, want %s", inner, want)
			}
		})
	}
}

// TestQuoteProperty: a quoted text is read back by this package and by others.
func TestQuoteProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := string(rapid.SliceOfN(rapid.Byte(), 0, 60).Draw(t, "bytes"))
		if rapid.Bool().Draw(t, "valid") {
			text = rapid.String().Draw(t, "text")
		}
		quoted := chat.Quote(nil, text)
		want := strings.ToValidUTF8(text, "\ufffd")
		if !utf8.ValidString(text) {
			want = string([]rune(text)) // one U+FFFD for each invalid byte
		}
		var std string
		if err := json.Unmarshal(quoted, &std); err != nil || std != want {
			t.Fatalf("encoding/json reads %q, %v, want %q", std, err, want)
		}
		r := &chat.Request{Body: quoted}
		if got := r.Decode(chat.Span{End: len(quoted)}); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	})
}

// TestDecodeProperty compares with encoding/json on any spelling, invalid bytes
// included.
func TestDecodeProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := spell(t, runes(drawRunes(t, "text")), false)
		raw = strings.TrimSpace(raw)
		if rapid.Bool().Draw(t, "damage") {
			// At either end, so that no escape is torn apart.
			bad := rapid.SampledFrom([]string{"\xff", "\xc3", "\xe6\xbc", "\xed\xb0"}).Draw(t, "bytes")
			at := rapid.SampledFrom([]int{1, len(raw) - 1}).Draw(t, "at")
			raw = raw[:at] + bad + raw[at:]
		}
		var want string
		if err := json.Unmarshal([]byte(raw), &want); err != nil {
			t.Fatalf("%q: %v", raw, err)
		}
		r := &chat.Request{Body: []byte(raw)}
		if got := r.Decode(chat.Span{End: len(raw)}); got != want {
			t.Fatalf("%q: got %q, want %q", raw, got, want)
		}
	})
}

func TestDecodeNoString(t *testing.T) {
	r := &chat.Request{Body: []byte(`"abc" 12`)}
	tests := []struct {
		name string
		span chat.Span
	}{
		{"absent", chat.Span{}},
		{"a number", chat.Span{Start: 6, End: 8}},
		{"one quote", chat.Span{Start: 0, End: 1}},
		{"beyond the end", chat.Span{Start: 0, End: 99}},
		{"before the start", chat.Span{Start: -2, End: 5}},
		{"backwards", chat.Span{Start: 5, End: 0}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := r.Decode(tt.span); got != "" {
				t.Errorf("got %q", got)
			}
		})
	}
}
