package tokens_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/foldgate/foldgate/compression/tokens"
)

func TestBounds(t *testing.T) {
	for _, tc := range []struct {
		name      string
		text      string
		low, high int
	}{
		{"empty", "", 0, 0},
		{"one letter", "a", 1, 1},
		{"words", "one two  three", 3, 14},
		{"camel case", "parseHttpBody", 3, 13},
		{"may be a contraction", "I'lL", 1, 4},
		{"digits", "12345678", 3, 8},
		{"digits and words", "at 12:30, 1024 of 2048", 11, 22},
		{"lines", "a\nb\n\nc", 5, 6},
		{"slashes after a line end", "!\n//", 1, 4},
		{"long run", strings.Repeat("=", 1000), 8, 1000},
		{"Han", strings.Repeat("漢", 100), 10, 300},
		{"Cyrillic", "один два три", 3, 22},
	} {
		t.Run(tc.name, func(t *testing.T) {
			low, high := tokens.Bounds([]byte(tc.text))
			if low != tc.low || high != tc.high {
				t.Errorf("Bounds(%q) = %d, %d, want %d, %d", tc.text, low, high, tc.low, tc.high)
			}
		})
	}
}

// TestBoundsHold draws any bytes and texts that hit the rules of the pattern.
func TestBoundsHold(t *testing.T) {
	ascii := rapid.StringOfN(rapid.RuneFrom([]rune("alrvELZ09 \t\n\r/'!é")), 0, 40, -1)
	texts := rapid.OneOf(
		text(), ascii,
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 60), func(b []byte) string { return string(b) }),
	)
	rapid.Check(t, func(t *rapid.T) {
		text := texts.Draw(t, "text")
		low, high := tokens.Bounds([]byte(text))
		if got := tokens.Shared().CountString(text); got < low || got > high {
			t.Fatalf("Count(%q) = %d, outside the bounds %d to %d", text, got, low, high)
		}
	})
}

// TestBoundsVocabulary holds the constants of Bounds against the vocabulary.
func TestBoundsVocabulary(t *testing.T) {
	if got, want := len(entries()), 199_998; got != want {
		t.Fatalf("the vocabulary has %d entries, want %d", got, want)
	}
	for entry := range entries() {
		high, wide := 0, 0
		for i := range len(entry) {
			if entry[i] >= 0x80 {
				high++
			}
			if entry[i] >= 0xe4 && entry[i] <= 0xed {
				wide++
			}
		}
		if len(entry) > 128 || high > 60 || wide > 10 {
			t.Errorf("%q has %d bytes, %d above ASCII, %d wide", entry, len(entry), high, wide)
		}
	}
}
