package chat_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/foldgate/foldgate/compression/chat"
)

// drawBody draws a request with any white space, spelling and unknown fields.
func drawBody(t *rapid.T) string {
	messages := node{kind: '['}
	for range rapid.IntRange(0, 5).Draw(t, "messages") {
		m := drawSaid(t).node(t)
		messages.items = append(messages.items, m.with(field("unknown", drawValue(t, 2))))
	}
	members := []pair{{"messages", messages}}
	for i := range rapid.IntRange(0, 3).Draw(t, "fields") {
		members = append(members, pair{fmt.Sprintf("field%d", i), drawValue(t, 4)})
	}
	return spell(t, object(members...), true)
}

// TestParseProperty: whatever the spelling, the spans are those of the elements.
func TestParseProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		body := drawBody(t)
		if _, err := read(body); err != nil {
			t.Fatalf("%q: %v", body, err)
		}
		if diff := differsFromReference([]byte(body)); diff != "" {
			t.Fatalf("%q: %s", body, diff)
		}
	})
}

// TestDamageProperty: whatever is done to a body, it is read as the reference
// reads it.
func TestDamageProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		body := []byte(drawBody(t))
		for range rapid.IntRange(1, 3).Draw(t, "damages") {
			if len(body) == 0 {
				break
			}
			at := rapid.IntRange(0, len(body)-1).Draw(t, "at")
			switch rapid.IntRange(0, 3).Draw(t, "how") {
			case 0:
				body = body[:at]
			case 1:
				body = append(body[:at], body[at+1:]...)
			case 2:
				body[at] = rapid.Byte().Draw(t, "byte")
			default:
				body[at] = rapid.SampledFrom([]byte(`{}[]",:\0-.eutn 1`)).Draw(t, "byte")
			}
		}
		if diff := differsFromReference(body); diff != "" {
			t.Fatalf("%q: %s", body, diff)
		}
	})
}

var seeds = []string{
	`{}`, `[]`, `null`, ``, `{"messages":[]}`, `{"messages":null}`,
	`{"model":"m","messages":[{"role":"user","content":"hi"}],"stream":true,"max_tokens":16}`,
	`{"messages":[{"role":"user","content":[{"type":"text","text":"a\ud83d\ude00\ud800"},{"type":"image_url","image_url":{"url":"data:","detail":"low"}}]}]}`,
	`{"messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"1","content":"x"}]}`,
	`{"messages":[{"role":"assistant","function_call":{"name":"f","arguments":""}},{"role":"function","name":"f","content":"x"}]}`,
	`{"messages":[{"role":"user","role":"tool"}]}`,
	`{"\u006dessages":[{"r\u006fle":"user"}],"messages":[]}`,
	`{"plugins":[{"id":"context-compression"}],"transforms":["middle-out"],"truncation":"auto","messages":[]}`,
	"{\"messages\":[{\"role\":\"user\",\"content\":\"\xff\x7f\"}],\"seed\":1e999}",
	`{"messages":[{"role":"x","content":{"b":[1,{"a":"\u0000"}],"a":-0.5E+1}}],}`,
}

// FuzzParse: nothing panics, bodies are read as the reference reads them, and
// what is found keeps its promises.
func FuzzParse(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if diff := differsFromReference(body); diff != "" {
			t.Fatal(diff)
		}
		r, err := read(string(body))
		if err != nil {
			if !errors.Is(err, chat.ErrSyntax) && !errors.Is(err, chat.ErrNotChat) && !errors.Is(err, chat.ErrDuplicateKey) {
				t.Fatalf("an error of no kind: %v", err)
			}
			return
		}
		if cuts := r.Cuttable(); len(cuts) != len(r.Messages)-r.Head+1 || !cuts[0] {
			t.Fatalf("got cuts %v for %d messages", cuts, len(r.Messages)-r.Head)
		}
		for i, m := range r.Messages {
			if text := r.Text(i); !utf8.ValidString(text) {
				t.Fatalf("message %d: text %q", i, text)
			}
			for _, p := range m.Parts {
				within(t, m.Content, p.Span, p.Text, p.URL, p.Marker)
			}
			for _, c := range m.Calls {
				within(t, m.Span, c.Span, c.Arguments)
			}
			within(t, m.Span, m.Content, m.Refusal, m.Audio, m.Marker)
		}
	})
}

func within(t *testing.T, outer chat.Span, spans ...chat.Span) {
	t.Helper()
	for _, s := range spans {
		if s != (chat.Span{}) && (s.Start < outer.Start || s.End > outer.End || s.Empty()) {
			t.Fatalf("span %v is not within %v", s, outer)
		}
	}
}

// FuzzCanonical: a canonical form does not depend on what stands around the
// message, on white space between its tokens or on a cache marker, and it shows
// another role.
func FuzzCanonical(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := read(string(body))
		if err != nil {
			return
		}
		for i := range r.Messages {
			want := r.Canonical(nil, i)
			raw := r.Raw(i)
			marked := append([]byte(` { "cache_control" : {"type":"ephemeral"} , `), bytes.TrimLeft(raw[1:], " \t\r\n")...)
			again, err := read(`{"messages":[{"role":"user"},` + string(marked) + `,{"role":"user"}]}`)
			if err != nil {
				t.Fatalf("%q: %v", marked, err)
			}
			if got := again.Canonical(nil, 1); !bytes.Equal(got, want) {
				t.Fatalf("%q: got %q, want %q", marked, got, want)
			}
			if bytes.Equal(again.Canonical(nil, 0), want) && again.Messages[1].RoleName != "user" {
				t.Fatalf("%q equals a message of another role", raw)
			}
		}
	})
}
