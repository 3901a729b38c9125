package chat_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foldgate/foldgate/compression/chat"
)

func TestParseErrors(t *testing.T) {
	in := func(message string) string { return `{"messages":[{"role":"system"},` + message + `]}` }
	part := func(p string) string { return in(`{"role":"user","content":[` + p + `]}`) }
	call := func(c string) string { return in(`{"role":"assistant","tool_calls":[` + c + `]}`) }
	tests := []struct {
		name, body string
		want       error
	}{
		{"no role", in(`{"content":"x"}`), chat.ErrNotChat},
		{"role null", in(`{"role":null}`), chat.ErrNotChat},
		{"role number", in(`{"role":1}`), chat.ErrNotChat},
		{"capital", in(`{"Role":"user"}`), chat.ErrNotChat},
		{"message null", in(`null`), chat.ErrNotChat},
		{"message array", in(`["user"]`), chat.ErrNotChat},
		{"message string", in(`"user"`), chat.ErrNotChat},
		{"empty role", in(`{"role":""}`), nil},
		{"escaped role key", in(`{"r\u006fle":"user"}`), nil},

		{"role twice", in(`{"role":"user","role":"user"}`), chat.ErrDuplicateKey},
		{"role twice, escaped", in(`{"role":"user","\u0072ole":"tool"}`), chat.ErrDuplicateKey},
		{"content twice", in(`{"role":"user","content":"a","content":"b"}`), chat.ErrDuplicateKey},
		{"name twice", in(`{"role":"user","name":"a","name":"b"}`), chat.ErrDuplicateKey},
		{"tool_calls twice", in(`{"role":"assistant","tool_calls":[],"tool_calls":[]}`), chat.ErrDuplicateKey},
		{"tool_call_id twice", in(`{"role":"tool","tool_call_id":"a","tool_call_id":"a"}`), chat.ErrDuplicateKey},
		{"function_call twice", in(`{"role":"assistant","function_call":null,"function_call":null}`), chat.ErrDuplicateKey},
		{"refusal twice", in(`{"role":"assistant","refusal":null,"refusal":"no"}`), chat.ErrDuplicateKey},
		{"type twice", part(`{"type":"text","type":"image_url"}`), chat.ErrDuplicateKey},
		{"text twice", part(`{"type":"text","text":"a","text":"b"}`), chat.ErrDuplicateKey},
		{"image_url twice", part(`{"image_url":"a","image_url":"b"}`), chat.ErrDuplicateKey},
		{"url twice", part(`{"image_url":{"url":"a","url":"b"}}`), chat.ErrDuplicateKey},
		{"detail twice", part(`{"image_url":{"detail":"low","detail":"high"}}`), chat.ErrDuplicateKey},
		{"call id twice", call(`{"id":"a","id":"b"}`), chat.ErrDuplicateKey},
		{"function twice", call(`{"function":{},"function":{}}`), chat.ErrDuplicateKey},
		{"function name twice", call(`{"function":{"name":"a","name":"b"}}`), chat.ErrDuplicateKey},
		{"arguments twice", call(`{"function":{"arguments":"","arguments":""}}`), chat.ErrDuplicateKey},
		{"input twice", call(`{"custom":{"input":"","input":""}}`), chat.ErrDuplicateKey},
		{"arguments of function_call twice", in(`{"role":"assistant","function_call":{"arguments":"","arguments":""}}`), chat.ErrDuplicateKey},

		{"unknown key twice", in(`{"role":"user","x":1,"x":2}`), nil},
		{"cache marker twice", in(`{"role":"user","cache_control":1,"cache_control":2}`), nil},
		{"role twice in an unknown value", in(`{"role":"user","x":{"role":1,"role":2}}`), nil},
		{"same keys in different parts", part(`{"type":"text","text":"a"},{"type":"text","text":"b"}`), nil},
		{"wrong types anywhere", in(`{"role":"x","content":1,"name":[],"tool_calls":{},"tool_call_id":2,"function_call":"f","refusal":{},"audio":1}`), nil},
		{"unknown keys inside parts and calls", in(`{"role":"x","prompt_cache_breakpoint":1,"content":[{"type":"video","image_url":{"x":1,"detail":2}}],"tool_calls":[{"type":1,"x":2,"function":{"x":3}}]}`), nil},
		{"odd parts and calls", in(`{"role":"x","content":[null,1,"a",[],{"type":1,"text":2,"image_url":3}],"tool_calls":[null,1,"a",[],{"id":1,"function":2}]}`), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := read(tt.body); !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
}

func TestParseForeignEnvelope(t *testing.T) {
	body := []byte(`{"messages":[{"role":"user","content":"x"}],"a":[1,{"b":2}]}`)
	for start := -1; start <= len(body)+1; start++ {
		for end := -1; end <= len(body)+1; end++ {
			e := chat.Envelope{Messages: chat.Span{Start: start, End: end}}
			r, err := chat.Parse(body, e)
			if err == nil && len(r.Messages) == 0 {
				t.Errorf("span %d to %d: read without messages", start, end)
			}
		}
	}
}

func TestParseTooMany(t *testing.T) {
	tests := []struct{ name, before, element, after string }{
		{"messages", `{"messages":[`, `{"role":"user"}`, `]}`},
		{"parts", `{"messages":[{"role":"user","content":[`, `0`, `]}]}`},
		{"calls", `{"messages":[{"role":"assistant","tool_calls":[`, `0`, `]}]}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			body := tt.before + strings.Repeat(tt.element+",", chat.MaxElements) + tt.element + tt.after
			if _, err := read(body); !errors.Is(err, chat.ErrNotChat) {
				t.Errorf("got %v, want %v", err, chat.ErrNotChat)
			}
		})
	}
}

func TestParseMessages(t *testing.T) {
	body := `{"messages": [
		{"role":"system","content":"be kind"},
		{"role":"developer","content":[{"type":"text","text":"a"}],"cache_control":{"type":"ephemeral"}} ,
		{"role":"user","name":"Zo\u00eb","content":[
			{"type":"text","text":"hi\n","prompt_cache_breakpoint":{"mode":"explicit"}},
			{"image_url":{"detail":"low","url":"data:x"},"type":"image_url"},
			{"type":"image_url","image_url":"http://y"}, 7 ]},
		{"role":"assistant","content":null,"refusal":"no","audio":{"id":"a"},"tool_calls":[
			{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}},
			{"custom":{"input":"raw","name":"g"},"id":"c2"},
			{"id":"c3","function":{"name":"h","arguments":{}}}],
			"function_call":{"name":"old","arguments":""}},
		{"tool_call_id":"c1","content":"","role":"tool"},
		{"role":"function","name":"old","content":null},
		{"role":"critic"}
	]}`
	r := parse(t, body)
	if r.Head != 2 || len(r.Messages) != 7 {
		t.Fatalf("got head %d of %d messages", r.Head, len(r.Messages))
	}
	text := func(s chat.Span) string { return string(s.Of(r.Body)) }
	user, assistant := r.Messages[2], r.Messages[3]
	got := []struct{ name, got, want string }{
		{"raw", string(r.Raw(0)), `{"role":"system","content":"be kind"}`},
		{"marker key", r.Messages[1].MarkerKey, "cache_control"},
		{"marker", text(r.Messages[1].Marker), `{"type":"ephemeral"}`},
		{"name", user.Name, "Zoë"},
		{"part type", user.Parts[0].Type, "text"},
		{"part text", text(user.Parts[0].Text), `"hi\n"`},
		{"part marker key", user.Parts[0].MarkerKey, "prompt_cache_breakpoint"},
		{"part marker", text(user.Parts[0].Marker), `{"mode":"explicit"}`},
		{"url", text(user.Parts[1].URL), `"data:x"`},
		{"detail", user.Parts[1].Detail, "low"},
		{"plain url", text(user.Parts[2].URL), `"http://y"`},
		{"odd part", text(user.Parts[3].Span), `7`},
		{"text of parts", r.Text(2), "hi\n"},
		{"refusal", text(assistant.Refusal), `"no"`},
		{"audio", text(assistant.Audio), `{"id":"a"}`},
		{"call", text(assistant.Calls[0].Span), `{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}`},
		{"call id", assistant.Calls[0].ID, "c1"},
		{"call name", assistant.Calls[0].Name, "f"},
		{"arguments", text(assistant.Calls[0].Arguments), `"{}"`},
		{"custom type", assistant.Calls[1].Type, "custom"},
		{"custom name", assistant.Calls[1].Name, "g"},
		{"custom input", text(assistant.Calls[1].Arguments), `"raw"`},
		{"odd arguments", text(assistant.Calls[2].Arguments), ``},
		{"deprecated name", assistant.Calls[3].Name, "old"},
		{"deprecated id and type", assistant.Calls[3].ID + assistant.Calls[3].Type, ""},
		{"deprecated call", text(assistant.Calls[3].Span), `{"name":"old","arguments":""}`},
		{"result", r.Messages[4].ToolCallID, "c1"},
		{"other role", r.Messages[6].RoleName, "critic"},
	}
	for _, g := range got {
		if g.got != g.want {
			t.Errorf("%s: got %q, want %q", g.name, g.got, g.want)
		}
	}
	kinds := []chat.ContentKind{
		chat.ContentString, chat.ContentArray, chat.ContentArray, chat.ContentNull,
		chat.ContentString, chat.ContentNull, chat.ContentAbsent,
	}
	roles := []chat.Role{
		chat.RoleSystem, chat.RoleDeveloper, chat.RoleUser, chat.RoleAssistant,
		chat.RoleTool, chat.RoleFunction, chat.RoleOther,
	}
	for i, m := range r.Messages {
		if m.ContentKind != kinds[i] || m.Role != roles[i] {
			t.Errorf("message %d: got kind %d, role %d", i, m.ContentKind, m.Role)
		}
	}
}

func TestText(t *testing.T) {
	tests := []struct{ name, message, want string }{
		{"string", `{"role":"user","content":"a\tb"}`, "a\tb"},
		{"parts", `{"role":"user","content":[{"type":"text","text":"a"},{"type":"file"},{"type":"text","text":"b"}]}`, "a\nb"},
		{"refusal part", `{"role":"assistant","content":[{"type":"refusal","refusal":"no"}]}`, "no"},
		{"echoed reasoning", `{"role":"assistant","content":[{"type":"thinking","text":"hm"},{"type":"text","text":"b"}]}`, "b"},
		{"null", `{"role":"assistant","content":null}`, ""},
		{"absent", `{"role":"assistant"}`, ""},
		{"number", `{"role":"assistant","content":12}`, ""},
		{"pair", `{"role":"user","content":"\ud83d\ude00"}`, "😀"},
		{"lone surrogates", `{"role":"user","content":"a\ud800\ud800b\udc00"}`, "a\ufffd\ufffdb\ufffd"},
		{"surrogate before another escape", `{"role":"user","content":"\ud83d\u0041"}`, "\ufffdA"},
		{"invalid UTF-8", "{\"role\":\"user\",\"content\":\"a\xff\xc3b\"}", "a\ufffd\ufffdb"},
		{"invalid UTF-8 beside an escape", "{\"role\":\"user\",\"content\":\"\\n\xff\"}", "\n\ufffd"},
		{"every escape", `{"role":"user","content":"\"\\\/\b\f\n\r\t\u00e9\u0000"}`, "\"\\/\b\f\n\r\té\x00"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := message(t, tt.message).Text(0); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestRealRequests reads recorded conversations, which live outside the project.
func TestRealRequests(t *testing.T) {
	folder := os.Getenv("FOLDGATE_TESTDATA")
	if folder == "" {
		t.Skip("FOLDGATE_TESTDATA is not set: recorded requests are not read")
	}
	files, err := filepath.Glob(filepath.Join(folder, "requests", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("looking for requests: %v, %d found", err, len(files))
	}
	for _, file := range files {
		if strings.HasSuffix(file, ".facts.json") {
			continue
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			body, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			r := parse(t, string(body))
			if len(r.Messages) == 0 {
				t.Fatal("no messages")
			}
			if diff := differsFromReference(body); diff != "" {
				t.Error(diff)
			}
			image := strings.Contains(filepath.Base(file), "images")
			if r.Opaque != image {
				t.Errorf("got opaque %t, want %t", r.Opaque, image)
			}
		})
	}
}
