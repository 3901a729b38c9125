package chat_test

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/foldgate/foldgate/compression/chat"
)

func canonical(tb testing.TB, raw string) []byte {
	tb.Helper()
	return message(tb, raw).Canonical(nil, 0)
}

// TestCanonicalFormat pins the bytes: replicas of different releases share the
// digests of what this gives.
func TestCanonicalFormat(t *testing.T) {
	tests := []struct{ name, message, want string }{
		{
			"user", `{"role":"user","name":"n","content":"h\u00e9"}`,
			"r\x00\x00\x00\x00\x00\x00\x00\x04user" + "n\x00\x00\x00\x00\x00\x00\x00\x01n" +
				"t\x00\x00\x00\x00\x00\x00\x00\x03hé",
		},
		{
			"call", `{"role":"assistant","content":null,"tool_calls":[{"id":"i","function":{"name":"f","arguments":"{}"}}]}`,
			"r\x00\x00\x00\x00\x00\x00\x00\x09assistant" + "c\x00\x00\x00\x00\x00\x00\x00\x01i" +
				"m\x00\x00\x00\x00\x00\x00\x00\x01f" + "a\x00\x00\x00\x00\x00\x00\x00\x02{}",
		},
		{
			"result", `{"role":"tool","tool_call_id":"i","content":"\ud800"}`,
			"r\x00\x00\x00\x00\x00\x00\x00\x04tool" + "t\x00\x00\x00\x00\x00\x00\x00\x03\xed\xa0\x80" +
				"i\x00\x00\x00\x00\x00\x00\x00\x01i",
		},
		{
			"part", `{"role":"user","content":[{"z":[1],"a":null}]}`,
			"r\x00\x00\x00\x00\x00\x00\x00\x04user" + "p{" +
				":\x00\x00\x00\x00\x00\x00\x00\x01a" + "#\x00\x00\x00\x00\x00\x00\x00\x04null" +
				":\x00\x00\x00\x00\x00\x00\x00\x01z" + "[,#\x00\x00\x00\x00\x00\x00\x00\x011..",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := string(canonical(t, tt.message))
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestDigestFormat(t *testing.T) {
	m := chat.MessageDigest(canonical(t, `{"role":"user","content":"hello"}`))
	chain := chat.Extend(chat.Extend(chat.Digest{}, m), m)
	const wantMessage = "f90af5471b8726c46655da39872ed484ac0cd630a3ce3f4d21cbe5b49aa12dd3"
	const wantChain = "b794e70557327caac90ce971ecce269447e5b1c7bdbdfc4498f763344b56839b"
	if got := hex.EncodeToString(m[:]); got != wantMessage {
		t.Errorf("message: got %s, want %s", got, wantMessage)
	}
	if got := hex.EncodeToString(chain[:]); got != wantChain {
		t.Errorf("chain: got %s, want %s", got, wantChain)
	}
}

func TestExtendKeepsOrder(t *testing.T) {
	a, b := chat.MessageDigest([]byte("a")), chat.MessageDigest([]byte("b"))
	if chat.Extend(chat.Extend(chat.Digest{}, a), b) == chat.Extend(chat.Extend(chat.Digest{}, b), a) {
		t.Error("two orders give one digest")
	}
}

func TestCanonicalEqual(t *testing.T) {
	const call = `"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]`
	tests := []struct {
		name   string
		equals []string
	}{
		{"string and one text part", []string{
			`{"role":"user","content":"hi"}`,
			`{"role":"user","content":[{"type":"text","text":"hi"}]}`,
			`{"content":[ {"text":"\u0068i","type":"text"} ],"role":"user"}`,
			`{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}],"cache_control":{}}`,
			`{"role":"user","content":[{"type":"text","text":"hi","prompt_cache_breakpoint":{"mode":"explicit"}}]}`,
		}},
		{"no content", []string{
			`{"role":"assistant",` + call + `}`,
			`{"role":"assistant","content":null,` + call + `}`,
			`{"role":"assistant","content":"",` + call + `}`,
			`{"role":"assistant","content":[],` + call + `}`,
			`{"role":"assistant","content":[{"type":"text","text":""}],` + call + `}`,
		}},
		{"echoes", []string{
			`{"role":"assistant","content":"x"}`,
			`{"role":"assistant","content":"x","refusal":null,"audio":null,"name":null,"function_call":null,"tool_calls":null,"annotations":[]}`,
			`{"role":"assistant","content":"x","tool_calls":[]}`,
			`{"role":"assistant","content":"x","reasoning":"r","reasoning_content":"r","reasoning_details":[{"data":"x"}]}`,
			`{"role":"assistant","content":"x","thinking_blocks":[{"signature":"s"}],"encrypted_content":"e"}`,
			`{"role":"assistant","content":[{"type":"thinking","thinking":"t"},{"type":"text","text":"x"}]}`,
			`{"role":"assistant","content":[{"type":"redacted_thinking","data":"t"},{"type":"text","text":"x"}]}`,
		}},
		{"calls", []string{
			`{"role":"assistant",` + call + `}`,
			`{"role":"assistant","tool_calls":[{"index":0,"function":{"arguments":"{}","name":"f"},"id":"c"}]}`,
			`{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"f","arguments":"\u007b}"},"extra_content":{"x":1}}]}`,
		}},
		{"odd calls", []string{
			`{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"f","arguments":{"a":1,"b":2}}}]}`,
			`{"role":"assistant","tool_calls":[{"index":1,"type":"function","function":{"arguments":{"b":2, "a":1},"name":"f"},"id":"c"}]}`,
		}},
		{"image", []string{
			`{"role":"user","content":[{"type":"image_url","image_url":{"url":"u","detail":"low"}}]}`,
			`{"role":"user","content":[{"cache_control":{},"image_url":{"detail":"low","url":"\u0075"},"type":"image_url"}]}`,
		}},
		{"odd message", []string{
			`{"role":"user","content":{"a":1,"b":2}}`,
			`{"content":{"b":2,"a":1},"reasoning":"r","role":"user","cache_control":{}}`,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want := canonical(t, tt.equals[0])
			for _, other := range tt.equals[1:] {
				if got := canonical(t, other); !bytes.Equal(got, want) {
					t.Errorf("%s:\ngot  %q\nwant %q", other, got, want)
				}
			}
		})
	}
}

// TestCanonicalDifferent holds messages of which no two are the same to a model.
func TestCanonicalDifferent(t *testing.T) {
	messages := []string{
		`{"role":"user"}`,
		`{"role":"User"}`,
		`{"role":"assistant"}`,
		`{"role":"user","name":"hi"}`,
		`{"role":"user","content":"hi"}`,
		`{"role":"user","content":"hi "}`,
		`{"role":"user","content":"Hi"}`,
		`{"role":"user","content":"\ud800"}`,
		`{"role":"user","content":"\ud801"}`,
		`{"role":"user","content":"\udc00"}`,
		`{"role":"user","content":"\ufffd"}`,
		"{\"role\":\"user\",\"content\":\"\xff\"}",
		"{\"role\":\"user\",\"content\":\"\xfe\"}",
		`{"role":"user","content":"\\ud800"}`,
		`{"role":"user","content":"ab"}`,
		`{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`,
		`{"role":"user","content":[{"type":"text","text":"b"},{"type":"text","text":"a"}]}`,
		`{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":""}]}`,
		`{"role":"user","content":[{"type":"text","text":"a\nb"}]}`,
		`{"role":"user","content":["ab"]}`,
		`{"role":"user","content":[1]}`,
		`{"role":"user","content":[1.0]}`,
		`{"role":"user","content":["1"]}`,
		`{"role":"user","content":[[1]]}`,
		`{"role":"user","content":[[1],[]]}`,
		`{"role":"user","content":[[[1]]]}`,
		`{"role":"user","content":[{}]}`,
		`{"role":"user","content":[null]}`,
		`{"role":"user","content":[{"a":1}]}`,
		`{"role":"user","content":[{"a":1,"a":2}]}`,
		`{"role":"user","content":[{"a":2,"a":1}]}`,
		`{"role":"user","content":[{"text":"hi"}]}`,
		`{"role":"user","content":[{"type":"input_text","text":"hi"}]}`,
		`{"role":"user","content":[{"type":"text","text":["hi"]}]}`,
		`{"role":"user","content":[{"type":"refusal","refusal":"hi"}]}`,
		`{"role":"user","refusal":"hi"}`,
		`{"role":"user","audio":{"id":"hi"}}`,
		`{"role":"user","audio":"hi"}`,
		`{"role":"user","content":[{"type":"image_url","image_url":{"url":"u"}}]}`,
		`{"role":"user","content":[{"type":"image_url","image_url":{"url":"u","detail":"low"}}]}`,
		`{"role":"user","content":[{"type":"image_url","image_url":{"url":"v"}}]}`,
		`{"role":"user","content":{"a":1}}`,
		`{"role":"user","content":{"a":2}}`,
		`{"role":"user","content":0}`,
		`{"role":"user","name":0}`,
		`{"role":"user","tool_calls":0}`,
		`{"role":"user","function_call":0}`,
		`{"role":"user","tool_call_id":"hi"}`,
		`{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"b","arguments":"c"}}]}`,
		`{"role":"assistant","tool_calls":[{"id":"x","function":{"name":"b","arguments":"c"}}]}`,
		`{"role":"assistant","tool_calls":[{"id":"\ud800","function":{"name":"b","arguments":"c"}}]}`,
		`{"role":"assistant","tool_calls":[{"id":"\ud801","function":{"name":"b","arguments":"c"}}]}`,
		`{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"x","arguments":"c"}}]}`,
		`{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"b","arguments":"x"}}]}`,
		`{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"b","arguments":""}}]}`,
		`{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"b","arguments":1}}]}`,
		`{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"b"}}]}`,
		`{"role":"assistant","tool_calls":[{"id":"a","function":{"name":1,"arguments":"c"}}]}`,
		`{"role":"assistant","tool_calls":[{"id":1,"function":{"name":"b","arguments":"c"}}]}`,
		`{"role":"assistant","tool_calls":[{"id":"a","custom":{"name":"b","input":"c"}}]}`,
		`{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"b","arguments":"c"},"custom":{"name":"b","input":"c"}}]}`,
		`{"role":"assistant","tool_calls":[{"id":"a","type":"mcp","server":1}]}`,
		`{"role":"assistant","tool_calls":[{"id":"a","type":"mcp","server":2}]}`,
		`{"role":"assistant","tool_calls":[{}]}`,
		`{"role":"assistant","tool_calls":[{},{}]}`,
		`{"role":"assistant","tool_calls":[null]}`,
		`{"role":"assistant","function_call":{"name":"b","arguments":"c"}}`,
		`{"role":"assistant","tool_calls":[{"id":"","function":{"name":"b","arguments":"c"}}]}`,
		`{"role":"assistant","function_call":{"name":"b"}}`,
		`{"role":"assistant","tool_calls":[{"id":"1","function":{"name":"b","arguments":"c"}},{"id":"2","function":{"name":"b","arguments":"c"}}]}`,
		`{"role":"assistant","tool_calls":[{"id":"2","function":{"name":"b","arguments":"c"}},{"id":"1","function":{"name":"b","arguments":"c"}}]}`,
	}
	seen := map[string]string{}
	for _, m := range messages {
		c := string(canonical(t, m))
		if other, ok := seen[c]; ok {
			t.Errorf("equal:\n%s\n%s", other, m)
		}
		seen[c] = m
	}
}

// TestCanonicalBeyondLimits: what is too deep or too wide to be sorted still
// counts, byte by byte.
func TestCanonicalBeyondLimits(t *testing.T) {
	wide := func(last string) string {
		return `{` + strings.Repeat(`"k":0,`, 5000) + last + `}`
	}
	tests := []struct{ name, a, b string }{
		{"deep arrays", nested("[", "]", 100), nested("[", "]", 101)},
		{"deep objects", strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100), strings.Repeat(`{"a":`, 100) + "2" + strings.Repeat("}", 100)},
		{"wide", wide(`"a":1`), wide(`"a":2`)},
		{"long array", `[` + strings.Repeat("0,", 1<<18) + `1]`, `[` + strings.Repeat("0,", 1<<18) + `2]`},
		{"after a long array", `[` + strings.Repeat("0,", 1<<18) + `0],1`, `[` + strings.Repeat("0,", 1<<18) + `0],2`},
		{"many objects", `[` + strings.Repeat(`{"a":""},`, 1<<17) + `1]`, `[` + strings.Repeat(`{"a":""},`, 1<<17) + `2]`},
		{"wide inside", `{"x":` + wide(`"a":1`) + `,"y":1}`, `{"x":` + wide(`"a":1`) + `,"y":2}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := func(part string) string { return `{"role":"user","content":[` + part + `]}` }
			a, again, b := canonical(t, in(tt.a)), canonical(t, in(tt.a)), canonical(t, in(tt.b))
			if !bytes.Equal(a, again) {
				t.Error("one message gives two forms")
			}
			if bytes.Equal(a, b) {
				t.Error("two messages give one form")
			}
			const most = 2 << 20 // of tags and lengths, whatever the message holds
			if len(a) > len(tt.a)+most {
				t.Errorf("%d bytes give a form of %d", len(tt.a), len(a))
			}
		})
	}
}

func TestCanonicalAppends(t *testing.T) {
	r := message(t, `{"role":"user","content":"hi"}`)
	got := r.Canonical([]byte("before"), 0)
	if want := append([]byte("before"), r.Canonical(nil, 0)...); !bytes.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// said is what a message says, and how it is put into JSON.
type said struct {
	role, name, result string
	texts              [][]rune
	part               *node
	calls              []call
}

type call struct{ id, name, arguments string }

func drawSaid(t *rapid.T) said {
	word := rapid.StringOfN(rapid.RuneFrom([]rune(`ab_"\é`)), 0, 6, -1)
	s := said{
		role:   rapid.SampledFrom([]string{"user", "assistant", "tool", "critic"}).Draw(t, "role"),
		name:   word.Draw(t, "name"),
		result: word.Draw(t, "result"),
	}
	for range rapid.IntRange(0, 3).Draw(t, "texts") {
		s.texts = append(s.texts, drawRunes(t, "text"))
	}
	if rapid.Bool().Draw(t, "has a part") {
		part := object(field("type", str("x")), field("value", drawValue(t, 3)))
		s.part = &part
	}
	for range rapid.IntRange(0, 2).Draw(t, "calls") {
		s.calls = append(s.calls, call{word.Draw(t, "id"), word.Draw(t, "function"), word.Draw(t, "arguments")})
	}
	return s
}

// node puts it into JSON in one of the ways that say the same.
func (s said) node(t *rapid.T) node {
	either := func(label string) bool { return rapid.Bool().Draw(t, label) }
	marked := func(n node) node {
		if either("cache marker") {
			return n.with(field("cache_control", object(field("type", str("ephemeral")))))
		}
		return n
	}
	m := marked(object(field("role", str(s.role))))
	if s.name != "" || either("empty name") {
		m = m.with(field("name", str(s.name)))
	}
	if s.result != "" {
		m = m.with(field("tool_call_id", str(s.result)))
	}
	if either("reasoning") {
		m = m.with(field("reasoning_content", drawValue(t, 2)), field("refusal", literal("null")))
	}
	parts := []node{}
	for _, text := range s.texts {
		parts = append(parts, marked(object(field("type", str("text")), field("text", runes(text)))))
	}
	if s.part != nil {
		parts = append(parts, marked(*s.part))
	}
	switch {
	case len(parts) == 0 && either("no content"):
	case len(parts) == 0:
		m = m.with(field("content", rapid.SampledFrom([]node{literal("null"), str(""), list()}).Draw(t, "empty content")))
	case s.part == nil && len(parts) == 1 && either("string content"):
		m = m.with(field("content", runes(s.texts[0])))
	default:
		m = m.with(field("content", list(parts...)))
	}
	calls := []node{}
	for _, c := range s.calls {
		n := object(field("id", str(c.id)), field("function", object(field("name", str(c.name)), field("arguments", str(c.arguments)))))
		if either("type of a call") {
			n = n.with(field("type", str("function")), field("index", literal("3")))
		}
		calls = append(calls, n)
	}
	if len(calls) > 0 {
		m = m.with(field("tool_calls", list(calls...)))
	}
	return m
}

func TestCanonicalProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSaid(t)
		form := func(s said) []byte {
			raw := spell(t, s.node(t), true)
			r, err := read(`{"messages":[` + raw + `]}`)
			if err != nil {
				t.Fatalf("parsing %q: %v", raw, err)
			}
			return r.Canonical(nil, 0)
		}
		want := form(s)
		if got := form(s); !bytes.Equal(got, want) {
			t.Fatalf("one message, two forms:\n%q\n%q", got, want)
		}
		if edited, ok := s.edited(t); ok && bytes.Equal(form(edited), want) {
			t.Fatalf("an edit does not show: %q", want)
		}
	})
}

// edited is s with one thing said otherwise.
func (s said) edited(t *rapid.T) (said, bool) {
	texts, calls := append([][]rune{}, s.texts...), append([]call{}, s.calls...)
	at := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "at") }
	switch rapid.IntRange(0, 7).Draw(t, "edit") {
	case 0:
		s.role += "x"
	case 1:
		s.name += "x"
	case 2:
		s.result += "x"
	case 3:
		if len(texts) == 0 {
			return s, false
		}
		i := at(len(texts))
		texts[i] = append(append([]rune{}, texts[i]...), 'x')
	case 4:
		texts = append(texts, []rune("x"))
	case 5, 6:
		if len(calls) == 0 {
			return s, false
		}
		c := &calls[at(len(calls))]
		*rapid.SampledFrom([]*string{&c.id, &c.name, &c.arguments}).Draw(t, "part of the call") += "x"
	default:
		calls = append(calls, call{})
	}
	s.texts, s.calls = texts, calls
	return s, true
}
