package compression_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/png"
	"strings"
	"sync"
	"testing"

	"github.com/foldgate/foldgate/compression"
	"github.com/foldgate/foldgate/compression/chat"
	"github.com/foldgate/foldgate/compression/tokens"
)

func TestChain(t *testing.T) {
	m := garden(4, 10)
	short, long := view(t, request(m[:5]...)), view(t, request(m...))
	for n := range short.Len() + 1 {
		if short.Chain(n) != long.Chain(n) {
			t.Errorf("chain of %d changes when the conversation grows", n)
		}
	}
	m[2] = said("assistant", "edited")
	edited := view(t, request(m...))
	if edited.Chain(1) != long.Chain(1) || edited.Chain(2) == long.Chain(2) || edited.Chain(3) == long.Chain(3) {
		t.Error("an edit does not show from its place on, or shows before it")
	}
	if long.Chain(-1) != (chat.Digest{}) || long.Chain(99) != long.Chain(long.Len()) {
		t.Error("out of range is not bounded")
	}
	m[0] = said("system", "another head")
	if view(t, request(m...)).Chain(3) != edited.Chain(3) {
		t.Error("the head counts")
	}
}

func TestAnchor(t *testing.T) {
	greeting := []string{said("user", "hi"), said("assistant", "hello")}
	long := append(greeting, said("user", words(1, 800)), said("assistant", words(2, 20)))
	anchor := view(t, request(long...)).Anchor()
	grown := append(long[:4:4], said("user", "more"))
	cases := []struct {
		name     string
		messages []string
		same     bool
	}{
		{"grown", grown, true},
		{"another head, and one in the middle", []string{said("system", "x"), long[0], said("developer", "y"), long[1], long[2]}, true},
		{"another later message", append(long[:3:3], said("assistant", "other")), true},
		{"an edit within the first 2 KiB", append([]string{said("user", "ho")}, long[1:]...), false},
		{"only the greeting", greeting, false},
	}
	for _, c := range cases {
		if got := view(t, request(c.messages...)).Anchor() == anchor; got != c.same {
			t.Errorf("%s: the same is %v", c.name, got)
		}
	}
	if view(t, request(said("system", words(1, 900)))).Anchor() != (chat.Digest{}) {
		t.Error("system messages alone have an anchor")
	}
}

func count(s string) compression.Tokens { return compression.Tokens(tokens.Shared().Count([]byte(s))) }

func TestTotal(t *testing.T) {
	tools := `[{"type":"function","function":{"name":"lookup"}}]`
	format := `{"type":"json_object"}`
	body := `{"tools":` + tools + `,"messages":[` + strings.Join([]string{
		said("system", "be good"),
		`{"role":"user","name":"ann","content":[{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":"https://example.com/a.png"}}]}`,
		called(`{"q":"x"}`, "call_1"),
		result("call_1", "found\n"),
	}, ",") + `],"response_format":` + format + `}`
	want := count(tools) + count(format) + 3 +
		4 + count("be good") +
		4 + 1 + count("ann") + count("look") + 1500 +
		4 + 4 + count("lookup") + count(`{"q":"x"}`) +
		4 + count("found\n")
	v := view(t, body)
	if got := v.Total(); got != want {
		t.Errorf("got %d, want %d", got, want)
	}
	if got, want := v.Reference(2), 4+count("found\n"); got != want {
		t.Errorf("Reference(2) is %d, want %d", got, want)
	}
}

func TestImagePrices(t *testing.T) {
	uri := func(w, h int) string {
		var b bytes.Buffer
		if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, w, h))); err != nil {
			t.Fatal(err)
		}
		return "data:image/png;base64," + base64.StdEncoding.EncodeToString(b.Bytes())
	}
	cases := []struct {
		name, url, detail string
		want              compression.Tokens
	}{
		{"one tile", uri(100, 50), "", 255},
		{"a square is fitted to four tiles", uri(1024, 1024), "high", 765},
		{"a long one", uri(4096, 2048), "auto", 85 + 6*170},
		{"a thin one is fitted by its length", uri(6000, 100), "", 85 + 4*170},
		{"low detail", uri(1024, 1024), "low", 85},
		{"an address", "https://example.com/a.png", "", 1500},
		{"no image", "data:image/png;base64," + strings.Repeat("AAAA", 100_000), "", 1500},
		{"not base64", "data:image/png;base64,!!!", "", 1500},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			v := view(t, request(fmt.Sprintf(`{"role":"user","content":[{"type":"image_url","image_url":{"url":%s,"detail":%q}}]}`, quote(c.url), c.detail)))
			if got := v.Reference(0) - 4; got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
			if low, high := v.Bounds(); low > v.Total() || high < v.Total() || high > 2000 {
				t.Errorf("bounds %d..%d, total %d", low, high, v.Total())
			}
		})
	}
	v := view(t, request(`{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"`+strings.Repeat("A", 9000)+`","format":"wav"}}]}`))
	if got := v.Reference(0); got != 1504 {
		t.Errorf("audio costs %d", got)
	}
}

func TestMemoForgetsAndStaysRight(t *testing.T) {
	memo := compression.NewMemo(0) // as small as there is
	body := request(garden(60, 20)...)
	want := compression.NewMemo(1 << 12).View(parse(t, body))
	for range 3 {
		v := memo.View(parse(t, body))
		if v.Total() != want.Total() || v.Chain(v.Len()) != want.Chain(v.Len()) || v.Anchor() != want.Anchor() {
			t.Fatal("a small memo gives other numbers")
		}
	}
}

func TestMemoConcurrently(t *testing.T) {
	memo := compression.NewMemo(100)
	bodies := make([]*chat.Request, 8)
	wants := make([]compression.Tokens, len(bodies))
	for i := range bodies {
		bodies[i] = parse(t, request(garden(10+i, 15)...))
		wants[i] = compression.NewMemo(1 << 12).View(bodies[i]).Total()
	}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range bodies {
				k := (i + g) % len(bodies)
				v := memo.View(bodies[k])
				v.Bounds()
				v.Chain(v.Len())
				if got := v.Total(); got != wants[k] {
					t.Errorf("request %d: got %d, want %d", k, got, wants[k])
				}
			}
		})
	}
	wg.Wait()
}

// A message and a response format of the same bytes are counted apart.
func TestMemoTellsKindsApart(t *testing.T) {
	m := `{"role":"user","content":"a"}`
	memo := compression.NewMemo(100)
	plain := memo.View(parse(t, request(m))).Total()
	with := memo.View(parse(t, `{"messages":[`+m+`],"response_format":`+m+`}`)).Total()
	if with-plain != count(m) {
		t.Errorf("the response format costs %d, want %d", with-plain, count(m))
	}
}
