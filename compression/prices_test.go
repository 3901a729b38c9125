package compression_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image/png"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/foldgate/foldgate/compression"
)

// pngURI is the beginning of an image of w by h pixels, which is all that is read.
func pngURI(t fataler, w, h int) string {
	t.Helper()
	chunk := binary.BigEndian.AppendUint32([]byte("IHDR"), uint32(w))
	chunk = append(binary.BigEndian.AppendUint32(chunk, uint32(h)), 8, 0, 0, 0, 0) // 8 bits of gray
	b := append([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0d"), chunk...)
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(chunk))
	if _, err := png.DecodeConfig(bytes.NewReader(b)); err != nil {
		t.Fatalf("drawing: %v", err)
	}
	return "data:image/png;base64," + base64.StdEncoding.EncodeToString(b)
}

// pictured is a user message with one image.
func pictured(url, detail string) string {
	return fmt.Sprintf(`{"role":"user","content":[{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":%s,"detail":%q}}]}`, quote(url), detail)
}

// priced is what the image costs in a request to the model.
func priced(t fataler, url, detail, model string) compression.Tokens {
	t.Helper()
	bare := view(t, request(said("user", "look"))).Total()
	return view(t, request(pictured(url, detail))).For(model).Total() - bare
}

func TestImagesCostWhatTheFamilyPublishes(t *testing.T) {
	cases := []struct {
		model  string
		w, h   int
		detail string
		want   compression.Tokens
	}{
		{"", 1024, 1024, "", 765}, // the reference
		{"mystery-7b", 1024, 1024, "", 765},
		{"mystery-7b", 1024, 1024, "low", 85},
		{"gpt-4o", 1024, 1024, "high", 765},
		{"openai/gpt-4o-2024-08-06", 2048, 4096, "", 1105},
		{"gpt-4.1", 1024, 1024, "low", 85},
		{"gpt-4o-mini", 1024, 1024, "", 2833 + 4*5667},
		{"gpt-4o-mini-2024-07-18", 1024, 1024, "low", 2833},
		{"o1", 1024, 1024, "", 75 + 4*150},
		{"o3-2025-04-16", 512, 512, "", 75 + 150},
		{"gpt-5", 1024, 1024, "", 70 + 4*140},
		{"gpt-5-chat-latest", 1024, 1024, "low", 70},
		{"gpt-5.1", 512, 512, "", 70 + 140},
		{"computer-use-preview", 512, 512, "", 65 + 129},
		{"gpt-4.1-mini", 1024, 1024, "", 1659},  // 1024 patches x 1.62
		{"gpt-4.1-mini", 1800, 2400, "", 2489},  // 1536, the most
		{"gpt-4.1-nano", 540, 360, "", 502},     // 204 patches x 2.46
		{"gpt-5-nano", 1024, 1024, "low", 384},  // 256, the most of a low one, x 1.5
		{"gpt-5-mini", 597, 566, "", 411},       // 342 patches x 1.2
		{"o4-mini", 1024, 1024, "", 1762},       // x 1.72
		{"gpt-5.5", 1024, 1024, "", 1229},       // x 1.2
		{"gpt-5.5", 4032, 3024, "high", 3000},   // 2500, the most
		{"gpt-5.5", 4032, 3024, "auto", 12_000}, // 10,000
		{"claude-3-5-sonnet-20241022", 1024, 1024, "", 1369},
		{"anthropic/claude-sonnet-4.5", 1920, 1080, "", 1568},
		{"claude-sonnet-4-20250514", 512, 512, "low", 361}, // it knows no detail
		{"us.anthropic.claude-opus-4-7-v1:0", 1920, 1080, "", 2691},
		{"claude-opus-5", 4032, 3024, "", 4784},
		{"gemini-2.5-flash", 300, 300, "", 258},
		{"google/gemini-2.0-flash-001", 960, 540, "", 6 * 258},
		{"gemini-1.5-pro", 3072, 2304, "", 12 * 258},
		{"gemini-3-pro-preview", 300, 300, "", 1120},
		{"Qwen/Qwen2.5-VL-72B-Instruct", 1036, 1036, "", 1369},
		{"qwen-vl-max", 8000, 8000, "", 16_384},
		{"qwen3-vl-plus", 1024, 1024, "", 1024},
		{"meta-llama/Llama-3.2-11B-Vision-Instruct", 1024, 1024, "", 6404},
	}
	for _, c := range cases {
		t.Run(fmt.Sprintf("%s %dx%d %s", c.model, c.w, c.h, c.detail), func(t *testing.T) {
			if got := priced(t, pngURI(t, c.w, c.h), c.detail, c.model); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}

// An image of which nothing shows costs what a usual one does, and no less than
// the reference.
func TestAnAddressCostsAUsualImage(t *testing.T) {
	for model, want := range map[string]compression.Tokens{
		"":                1500,
		"gpt-4o":          1500,
		"gpt-4o-mini":     2833 + 4*5667,
		"gpt-4.1-nano":    2520,
		"claude-3-haiku":  1500,
		"claude-opus-4-8": 1500,
		"gemini-3-pro":    1120,
	} {
		if got := priced(t, "https://example.com/a.png", "", model); got != want {
			t.Errorf("%s: got %d, want %d", model, got, want)
		}
	}
	if got := priced(t, "https://example.com/a.png", "low", "gpt-4o-mini"); got != 2833 {
		t.Errorf("low detail: got %d", got)
	}
}

// The price of a family reaches whatever decides whether a request fits, and
// nothing that decides how it is cut.
func TestForChangesWhetherAndNotHow(t *testing.T) {
	m := append(garden(3, 20), pictured(pngURI(t, 1024, 1024), ""), said("assistant", "a picture"), said("user", "and?"))
	plain, dear := view(t, request(m...)), view(t, request(m...)).For("gpt-4o-mini")
	const delta = 2833 + 4*5667 - 765
	if got := dear.Total() - plain.Total(); got != delta {
		t.Errorf("Total: %d more, want %d", got, delta)
	}
	for i := range plain.Len() {
		if plain.Reference(i) != dear.Reference(i) {
			t.Errorf("Reference(%d) depends on the model", i)
		}
	}
	if low, high := dear.Bounds(); low > dear.Total() || high < dear.Total() {
		t.Errorf("%d is not within %d..%d", dear.Total(), low, high)
	}
	if _, n := dear.Prefix(dear.Len()); n != dear.Total() {
		t.Errorf("Prefix counts %d, Total %d", n, dear.Total())
	}
	whole, err := dear.Unfolded(budget(1 << 20))
	if err != nil || whole.Counted != dear.Total() || whole.Shrunk != 0 {
		t.Errorf("what fits: %d (%d shrunk), %v; want %d", whole.Counted, whole.Shrunk, err, dear.Total())
	}
	// It fits by the reference price, and only by that: the image becomes a note,
	// which costs every family the same.
	b := budget(6000)
	if f, err := plain.Unfolded(b); err != nil || f.Shrunk != 0 {
		t.Errorf("at the reference price: %d shrunk, %v", f.Shrunk, err)
	}
	f, err := dear.Unfolded(b)
	if err != nil || !f.Fits || f.Shrunk != 1 {
		t.Fatalf("at the family's price: %+v, %v", f, err)
	}
	if again := view(t, string(f.Body)).For("gpt-4o-mini").Total(); again != f.Counted {
		t.Errorf("counted %d, and %d when it comes again", f.Counted, again)
	}
}

// Foldgate's own count of what it sends is the count of the bytes that leave.
func TestCountedIsTheCountOfTheBody(t *testing.T) {
	m := garden(12, 60)
	v := view(t, request(m...))
	b := budget(int(v.Total()) * 2 / 3)
	h := v.Deterministic(b, settings(), nil)
	f := mustFold(t, v, h, b)
	if again := view(t, string(f.Body)).Total(); again != f.Counted {
		t.Errorf("counted %d, and %d when it comes again", f.Counted, again)
	}
}

func TestPrefixNamesExactlyWhatWasSent(t *testing.T) {
	m := garden(4, 10)
	memo := compression.NewMemo(64) // names are of one memo
	with := func(fields string, m ...string) *compression.View {
		body := request(m...)
		return memo.View(view(t, body[:len(body)-1]+fields+"}").Request)
	}
	const tools = `,"tools":[{"type":"function","function":{"name":"lookup"}}]`
	short, long := with(tools, m[:5]...), with(tools, m...)
	name, counted := long.Prefix(4)
	if got, n := short.Prefix(short.Len()); got != name || n != counted || n != short.Total() {
		t.Errorf("the earlier turn is not found again: %d and %d, total %d", n, counted, short.Total())
	}
	other := append([]string{said("system", "another head")}, m[1:]...)
	edited := append([]string{m[0], said("user", "edited")}, m[2:]...)
	for what, v := range map[string]*compression.View{
		"another head":     with(tools, other...),
		"an edit":          with(tools, edited...),
		"no tools":         with("", m...),
		"a format":         with(tools+`,"response_format":{"type":"json_object"}`, m...),
		"tools as format":  with(`,"response_format":[{"type":"function","function":{"name":"lookup"}}]`, m...),
		"one message less": long,
	} {
		n := 4
		if v == long {
			n = 3
		}
		if got, _ := v.Prefix(n); got == name {
			t.Errorf("%s has the same name", what)
		}
	}
	if a, _ := long.Prefix(-1); a == name {
		t.Error("out of range is not bounded")
	}
	if got, n := long.Prefix(99); n != long.Total() {
		t.Errorf("out of range: %v, %d", got, n)
	}
}

// Whatever the model is called and the image measures, it costs something that an
// image can cost.
func TestPricesStayWithinReason(t *testing.T) {
	models := []string{"gpt-4o", "gpt-4o-mini", "gpt-5.6", "o4-mini", "claude-3", "claude-opus-5", "gemini-2.5", "gemini-4", "qwen3-vl", "qwen-vl", "x", "", "gpt-4o-minimal", "Claude.", "a.b.c/…@", "llama-3.2-11b-vision"}
	rapid.Check(t, func(t *rapid.T) {
		model := rapid.OneOf(rapid.SampledFrom(models), rapid.String()).Draw(t, "model")
		w, h := rapid.IntRange(1, 4000).Draw(t, "w"), rapid.IntRange(1, 4000).Draw(t, "h")
		detail := rapid.SampledFrom([]string{"", "low", "high", "auto", "original", "odd"}).Draw(t, "detail")
		small, large := priced(t, pngURI(t, w, h), detail, model), priced(t, pngURI(t, 4*w, 4*h), detail, model)
		if small < 1 || large > 120_000 || small > large { // Gemini: 21 by 21 tiles of 258
			t.Fatalf("%dx%d costs %d, four times as large %d", w, h, small, large)
		}
	})
}

// Bounds what a turn costs a conversation with many images that were seen before.
func BenchmarkImages(b *testing.B) {
	var m []string
	for i := range 60 {
		m = append(m, pictured(pngURI(b, 640+i, 480), ""), said("assistant", words(i, 40)))
	}
	body := request(append(m, said("user", "and?"))...)
	memo := compression.NewMemo(1 << 14)
	r := parse(b, body)
	memo.View(r).For("gpt-4o-mini").Total()
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		v := memo.View(r).For("gpt-4o-mini")
		v.Bounds()
		v.Total()
	}
}

// A value that is shorter without its middle may be longer in quotes: then it
// stays, in the body and in the count.
func TestCountedIsTheCountOfShortenedArguments(t *testing.T) {
	whole, cut := 0, 0
	for size := range 150 { // of 280 to 330 bytes, in three alignments
		text := strings.Repeat("赛,程,表,7,", 60)[:280+size/3]
		text = strings.Repeat("x", size%3) + strings.ToValidUTF8(text, "")
		arguments := quote(`{"path":` + quote(text) + `}`)
		for total := 120; total < 300; total += 20 {
			v := view(t, request(said("user", "go on"),
				`{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"read","arguments":`+arguments+`}}]}`,
				`{"role":"tool","tool_call_id":"1","content":"done"}`, said("user", "and now?")))
			f, err := v.Unfolded(budget(total))
			if err != nil {
				continue
			}
			if again := view(t, string(f.Body)).Total(); again != f.Counted {
				t.Errorf("a value of %d bytes: counted %d, and %d when it comes again", len(text), f.Counted, again)
			}
			whole += 1 - f.Shrunk
			cut += f.Shrunk
		}
	}
	if whole == 0 || cut == 0 {
		t.Errorf("%d stayed whole, %d were cut: the test shows nothing", whole, cut)
	}
}
