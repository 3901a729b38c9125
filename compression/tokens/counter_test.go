package tokens_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/tiktoken-go/tokenizer/codec"
	"pgregory.net/rapid"

	"github.com/foldgate/foldgate/compression/tokens"
)

// cases are texts with the counts that the reference implementation (tiktoken
// 1.0.22 for Node.js) gives.
var cases = []struct {
	name string
	text string
	want int
}{
	{"empty", "", 0},
	{"word", "hello", 1},
	{"sentence", "Hello, world! How's it going?", 9},
	{"contractions in any case", "it's IT'S we'Ll they'Re I'd I'M don'T you'VE", 16},
	{"long s contracts", "it'ſ", 3},
	{"no contraction", "it'x it'r ' '' 'sx", 8},
	{"camel case", "parseHTTPResponseBody XMLHttpRequest iPhone ABCdefGHI", 12},
	{"title case letter", "ǅungla ǅǅ", 9},
	{"numbers", "1234567890 ½²Ⅷ٣٤٥٦ 3.14159", 18},
	{"symbols and slashes", "//// !!!\n\n/// a/b\n/c {\"k\":[1,2]}\r\n", 15},
	{"blank line with spaces", "a\n  \nb", 3},
	{"mixed line ends", "a \r\n \t\r\n\n  b", 6},
	{"trailing spaces", "a   ", 2},
	{"indent", "\tif x {\n\t\treturn\n\t}\n", 8},
	{"no-break and wide spaces", "a\u00a0b\u3000c\u2028\u0085d", 9},
	{"Han", "我们今天讨论一下这个问题的解决方案。", 10},
	{"kana", "これはテストです。カタカナも。", 11},
	{"Hindi with marks", "नमस्ते दुनिया, यह एक परीक्षण है।", 11},
	{"marks alone", "\u0301\u0301A\u0301 !\u0301 \u0301", 8},
	{"mark before capitals", "\u0301ABC \u0301Abc", 6},
	{"emoji", "😀👩‍👩‍👧‍👦🇩🇪", 16},
	{"modifier letters", "ʰAʰBC", 6},
	{"special tokens are text", "<|endoftext|><|endofprompt|>", 13},
	{"replacement character", "\ufffd\ufffd", 1},
	{"delete character", "a\x7fb", 3},
	{"base64", "iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4", 31},
}

func TestCountKnown(t *testing.T) {
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			if got := tokens.Shared().CountString(tc.text); got != tc.want {
				t.Errorf("Count(%q) = %d, want %d", tc.text, got, tc.want)
			}
			if got := countReference(tc.text); got != tc.want {
				t.Errorf("the reference of this test counts %d, want %d", got, tc.want)
			}
		})
	}
}

func TestCountInvalidUTF8(t *testing.T) {
	for _, tc := range []struct{ name, text string }{
		{"lone byte", "\xff"},
		{"every byte", string(everyByte())},
		{"cut rune", "abc\xe6\xbc"},
		{"surrogate", "x\xed\xa0\x80y"},
		{"overlong", "\xc0\xaf"},
		{"among letters", "ab\x80cd 12\x803"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := tokens.Shared().CountString(tc.text)
			if low, high := 1, len(tc.text); got < low || got > high {
				t.Errorf("Count = %d, want %d to %d", got, low, high)
			}
		})
	}
}

func everyByte() []byte {
	b := make([]byte, 256)
	for i := range b {
		b[i] = byte(i)
	}
	return b
}

// TestCountLong takes pieces beyond the length up to which a piece is scanned,
// around it, and beyond the length up to which it is merged as one.
func TestCountLong(t *testing.T) {
	for _, unit := range []string{"a", " ", "\n", "_", "=-", "ab", "漢", "字漢", "😀", "Zq", "\u0301"} {
		for n := 90; n < 300; n += 11 {
			text := strings.Repeat(unit, n/len(unit))
			if got, want := tokens.Shared().CountString(text), countReference(text); got != want {
				t.Fatalf("Count of %d × %q = %d, want %d", n/len(unit), unit, got, want)
			}
		}
	}
	const limit = 1 << 20 // eight letters a are a token
	text := strings.Repeat("a", 3*limit) + "aaaaa"
	if got, want := tokens.Shared().CountString(text), 3*limit/8+countReference("aaaaa"); got != want {
		t.Errorf("Count of %d letters = %d, want %d", len(text), got, want)
	}
}

// TestCountLongReference draws single pieces that are long enough for the heap.
func TestCountLongReference(t *testing.T) {
	alphabets := rapid.SampledFrom([]string{"abcdefghijklmnopqrstuvwxyz", "aeinst", "ab", "!=-_", "漢字日本人大中国", "أبتثجح", "アイウエオカキ"})
	rapid.Check(t, func(t *rapid.T) {
		runes := rapid.RuneFrom([]rune(alphabets.Draw(t, "alphabet")))
		text := rapid.StringOfN(runes, 100, 250, -1).Draw(t, "text")
		if got, want := tokens.Shared().CountString(text), countReference(text); got != want {
			t.Fatalf("Count(%q) = %d, want %d", text, got, want)
		}
	})
}

// TestCountReference compares with the reference on texts made to hit the rules
// of the pattern.
func TestCountReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := text().Draw(t, "text")
		if got, want := tokens.Shared().CountString(text), countReference(text); got != want {
			t.Fatalf("Count(%q) = %d, want %d (pieces %q)", text, got, want, splitReference(text))
		}
	})
}

// TestCountLibrary compares with the tokenizer library, but for the texts that
// it is known to split in another way.
func TestCountLibrary(t *testing.T) {
	library := codec.NewO200kBase()
	rapid.Check(t, func(t *rapid.T) {
		text := text().Draw(t, "text")
		if libraryDiffers(text) {
			t.Skip("known deviation of the library")
		}
		want, err := library.Count(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := tokens.Shared().CountString(text); got != want {
			t.Fatalf("Count(%q) = %d, want %d", text, got, want)
		}
	})
}

// text draws valid UTF-8: runs of fragments, each of which matters to a rule.
func text() *rapid.Generator[string] {
	fragment := rapid.OneOf(
		rapid.SampledFrom([]string{
			" ", "  ", "\n", "\r\n", "\t", "\u00a0", "\u3000", "\u0085", "/", "'", "'s", "'LL", "'ſ", "'r", "!", "\"", "{",
			"the", "The", "THE", "a", "B", "ǅ", "ʰ", "ª", "\u0301", "ा", "漢字", "かな", "ß", "Ж", "ж", "1", "42", "٣", "½",
			"😀", "\u200d", "\ufeff", "\x00", "<|endoftext|>", "function", "HTTPServer", "0x7f", "...", "---", "https://",
		}),
		rapid.StringMatching(`[a-z]{1,12}|[A-Z]{1,6}|[0-9]{1,7}|[A-Za-z0-9+/]{1,40}| {1,9}|\n{1,3}`),
		rapid.StringN(0, 6, -1),
	)
	return rapid.Map(rapid.SliceOfN(fragment, 0, 30), func(parts []string) string {
		return strings.ToValidUTF8(strings.Join(parts, ""), "")
	})
}

// TestCountTestdata counts real requests and compares with the library.
func TestCountTestdata(t *testing.T) {
	dir := os.Getenv("FOLDGATE_TESTDATA")
	if dir == "" {
		t.Skip("FOLDGATE_TESTDATA is not set")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files in %s: %v", dir, err)
	}
	library := codec.NewO200kBase()
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			body, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := tokens.Shared().Count(body)
			low, high := tokens.Bounds(body)
			if got < low || got > high {
				t.Errorf("Count = %d, outside the bounds %d to %d", got, low, high)
			}
			if text := string(body); utf8.ValidString(text) && !libraryDiffers(text) {
				want, err := library.Count(text)
				if err != nil {
					t.Fatal(err)
				}
				if got != want {
					t.Errorf("Count = %d, want %d", got, want)
				}
			}
		})
	}
}

func TestCountConcurrently(t *testing.T) {
	c := tokens.Shared()
	text := strings.Repeat("Some words, números 12345 und 漢字 "+strings.Repeat("x", 150)+"\n", 40)
	want := c.CountString(text)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				if got := c.Count([]byte(text)); got != want {
					t.Errorf("Count = %d, want %d", got, want)
				}
			}
		})
	}
	wg.Wait()
}

func TestCountDoesNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("under -race a pool drops what it is given")
	}
	c := tokens.Shared()
	text := strings.Repeat("Some words, números 12345 und 漢字漢字\n", 100)
	if got := testing.AllocsPerRun(100, func() { c.CountString(text) }); got > 0 {
		t.Errorf("CountString allocates %v times, want 0", got)
	}
}

func FuzzCount(f *testing.F) {
	for _, tc := range cases {
		f.Add(tc.text)
	}
	f.Add(string(everyByte()))
	f.Add(strings.Repeat("ab ", 50) + strings.Repeat("Q", 120))
	f.Fuzz(func(t *testing.T, text string) {
		got := tokens.Shared().CountString(text)
		low, high := tokens.Bounds([]byte(text))
		if got < low || got > high {
			t.Errorf("Count(%q) = %d, outside the bounds %d to %d", text, got, low, high)
		}
		if !utf8.ValidString(text) || len(text) > 2000 {
			return
		}
		if want := countReference(text); got != want {
			t.Errorf("Count(%q) = %d, want %d", text, got, want)
		}
	})
}
