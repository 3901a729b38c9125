package chat_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/foldgate/foldgate/compression/chat"
)

func nested(open, closing string, n int) string {
	return strings.Repeat(open, n) + strings.Repeat(closing, n)
}

// TestAccepted holds what readers of JSON disagree about.
func TestAccepted(t *testing.T) {
	tests := []struct {
		name string
		body string
		want error // nil: read
	}{
		{"smallest", `{"messages":[]}`, nil},
		{"white space everywhere", " \n\t\r{ \"messages\" \n:\t[ ] \r}\n ", nil},
		{"messages last", `{"a":{"messages":[1]},"messages":[]}`, nil},
		{"escaped key", `{"\u006dessages":[]}`, nil},
		{"escaped key in another way", `{"\u006D\u0065ssages":[]}`, nil},
		{"invalid UTF-8 in a value", "{\"x\":\"\xff\xfe\",\"messages\":[]}", nil},
		{"invalid UTF-8 in a key", "{\"\xff\":1,\"messages\":[]}", nil},
		{"lone surrogate", `{"x":"\ud800","messages":[]}`, nil},
		{"lone low surrogate in a key", `{"\udc00":1,"messages":[]}`, nil},
		{"30 digits", `{"seed":123456789012345678901234567890,"messages":[]}`, nil},
		{"out of range", `{"x":[1e999,-0,0.10E-4],"messages":[]}`, nil},
		{"doubled key that does not matter", `{"seed":1,"seed":2,"messages":[]}`, nil},
		{"doubled key below the top", `{"x":{"model":1,"model":2},"messages":[]}`, nil},
		{"DEL in a string", "{\"x\":\"\x7f\",\"messages\":[]}", nil},
		{"deepest", `{"x":` + nested("[", "]", chat.MaxDepth-1) + `,"messages":[]}`, nil},
		{"empty key", `{"":1,"messages":[]}`, nil},

		{"capital", `{"Messages":[]}`, chat.ErrNotChat},
		{"messages null", `{"messages":null}`, chat.ErrNotChat},
		{"messages object", `{"messages":{}}`, chat.ErrNotChat},
		{"messages string", `{"messages":"[]"}`, chat.ErrNotChat},
		{"no messages", `{"model":"m"}`, chat.ErrNotChat},
		{"array", `[{"messages":[]}]`, chat.ErrNotChat},
		{"string", `"messages"`, chat.ErrNotChat},
		{"number", `0`, chat.ErrNotChat},
		{"null", `null`, chat.ErrNotChat},

		{"doubled messages", `{"messages":[],"messages":[]}`, chat.ErrDuplicateKey},
		{"doubled messages, one escaped", `{"messages":[],"m\u0065ssages":[]}`, chat.ErrDuplicateKey},
		{"doubled messages, one null", `{"messages":[],"messages":null}`, chat.ErrDuplicateKey},
		{"doubled model", `{"model":"a","messages":[],"model":"a"}`, chat.ErrDuplicateKey},
		{"doubled stream", `{"stream":true,"stream":false,"messages":[]}`, chat.ErrDuplicateKey},
		{"doubled max_tokens", `{"max_tokens":1,"messages":[],"max_tokens":2}`, chat.ErrDuplicateKey},
		{"doubled max_completion_tokens", `{"max_completion_tokens":1,"max_completion_tokens":2,"messages":[]}`, chat.ErrDuplicateKey},
		{"doubled tools", `{"tools":[],"tools":[],"messages":[]}`, chat.ErrDuplicateKey},
		{"doubled functions", `{"functions":[],"functions":[],"messages":[]}`, chat.ErrDuplicateKey},
		{"doubled response_format", `{"response_format":{},"response_format":{},"messages":[]}`, chat.ErrDuplicateKey},

		{"nothing", ``, chat.ErrSyntax},
		{"white space only", ` `, chat.ErrSyntax},
		{"trailing garbage", `{"messages":[]}x`, chat.ErrSyntax},
		{"second value", `{"messages":[]} {}`, chat.ErrSyntax},
		{"trailing NUL", "{\"messages\":[]}\x00", chat.ErrSyntax},
		{"NUL before", "\x00{\"messages\":[]}", chat.ErrSyntax},
		{"NUL between", "{\"messages\":\x00[]}", chat.ErrSyntax},
		{"truncated object", `{"messages":[]`, chat.ErrSyntax},
		{"truncated array", `{"messages":[`, chat.ErrSyntax},
		{"truncated after the colon", `{"messages":`, chat.ErrSyntax},
		{"truncated key", `{"messag`, chat.ErrSyntax},
		{"truncated string", `{"messages":[],"x":"abcdefghijk`, chat.ErrSyntax},
		{"truncated escape", `{"messages":[],"x":"\`, chat.ErrSyntax},
		{"truncated literal", `{"messages":[],"x":tru`, chat.ErrSyntax},
		{"byte order mark", "\ufeff{\"messages\":[]}", chat.ErrSyntax},
		{"trailing comma in an object", `{"messages":[],}`, chat.ErrSyntax},
		{"trailing comma in an array", `{"messages":[1,]}`, chat.ErrSyntax},
		{"leading comma", `{,"messages":[]}`, chat.ErrSyntax},
		{"missing comma", `{"a":1 "messages":[]}`, chat.ErrSyntax},
		{"missing colon", `{"messages"[]}`, chat.ErrSyntax},
		{"key without quotes", `{messages:[]}`, chat.ErrSyntax},
		{"single quotes", `{'messages':[]}`, chat.ErrSyntax},
		{"comment", `{"messages":[]/**/}`, chat.ErrSyntax},
		{"leading zero", `{"x":01,"messages":[]}`, chat.ErrSyntax},
		{"plus sign", `{"x":+1,"messages":[]}`, chat.ErrSyntax},
		{"bare minus", `{"x":-,"messages":[]}`, chat.ErrSyntax},
		{"no fraction", `{"x":1.,"messages":[]}`, chat.ErrSyntax},
		{"no exponent", `{"x":1e,"messages":[]}`, chat.ErrSyntax},
		{"NaN", `{"x":NaN,"messages":[]}`, chat.ErrSyntax},
		{"raw line feed in a string", "{\"x\":\"a\nb\",\"messages\":[]}", chat.ErrSyntax},
		{"raw control character past the first eight bytes", "{\"x\":\"0123456789\x1f\",\"messages\":[]}", chat.ErrSyntax},
		{"bad escape", `{"x":"\x41","messages":[]}`, chat.ErrSyntax},
		{"short unicode escape", `{"x":"\u12","messages":[]}`, chat.ErrSyntax},
		{"no hex digit", `{"x":"\u12g4","messages":[]}`, chat.ErrSyntax},
		{"form feed as white space", "{\"messages\":\f[]}", chat.ErrSyntax},
		{"wrong bracket", `{"messages":[}]`, chat.ErrSyntax},
		{"one too deep", `{"x":` + nested("[", "]", chat.MaxDepth) + `,"messages":[]}`, chat.ErrSyntax},
		{"too deep inside messages", `{"messages":` + nested(`[{"a":`, "}]", chat.MaxDepth) + `}`, chat.ErrSyntax},
		{"a million brackets", strings.Repeat("[", 1<<20), chat.ErrSyntax},
		{"a million objects", strings.Repeat(`{"a":`, 1<<20), chat.ErrSyntax},
		{"doubled key before a syntax error", `{"messages":[],"messages":[],}`, chat.ErrSyntax},
		{"no chat, then a syntax error", `[1] 2`, chat.ErrSyntax},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := read(tt.body)
			if !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
}

func TestEnvelope(t *testing.T) {
	body := ` {"model":"gp\u0074-5", "stream" : true,"tools":[ {"a":1} ],
		"messages" : [ {"role":"user"} ] ,"max_tokens":1e3,"max_completion_tokens":2048,
		"response_format":{"type":"json_\u006fbject"},"seed":9007199254740993 } `
	e, err := chat.ReadEnvelope([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	spans := []struct {
		name string
		got  chat.Span
		want string
	}{
		{"messages", e.Messages, `[ {"role":"user"} ]`},
		{"tools", e.Tools, `[ {"a":1} ]`},
		{"response_format", e.ResponseFormat, `{"type":"json_\u006fbject"}`},
	}
	for _, s := range spans {
		if got := string(s.got.Of([]byte(body))); got != s.want {
			t.Errorf("%s: got %s, want %s", s.name, got, s.want)
		}
	}
	if e.Model != "gpt-5" || !e.Stream || e.MaxTokens != 1000 || e.MaxCompletionTokens != 2048 || !e.JSONObject {
		t.Errorf("got %+v", e)
	}
	if e.Opaque || e.Native != "" {
		t.Errorf("got opaque %t, native %q for plain text", e.Opaque, e.Native)
	}
}

func TestEnvelopeWrongTypes(t *testing.T) {
	tests := []struct {
		name, fields string
	}{
		{"null", `"model":null,"stream":null,"max_tokens":null,"response_format":null`},
		{"strings", `"model":1,"stream":"true","max_tokens":"12","response_format":"json_object"`},
		{"negative", `"model":[],"stream":1,"max_tokens":-5,"max_completion_tokens":-1e3`},
		{"huge", `"max_tokens":99999999999999999999,"max_completion_tokens":1e400`},
		{"fraction", `"max_tokens":0.5,"response_format":{"type":"json_schema"}`},
		{"objects", `"max_tokens":{},"max_completion_tokens":[1],"response_format":{"type":{}}`},
		{"endless number", `"max_tokens":1.` + strings.Repeat("0", 1<<16)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e, err := chat.ReadEnvelope([]byte(`{"messages":[],` + tt.fields + `}`))
			if err != nil {
				t.Fatal(err)
			}
			if e.Model != "" || e.Stream || e.MaxTokens != 0 || e.MaxCompletionTokens != 0 || e.JSONObject {
				t.Errorf("got %+v, want zero values", e)
			}
		})
	}
}

func TestEnvelopeFunctions(t *testing.T) {
	tests := []struct{ name, body, want string }{
		{"functions alone", `{"functions":[1],"messages":[]}`, `[1]`},
		{"tools before functions", `{"tools":[2],"functions":[1],"messages":[]}`, `[2]`},
		{"functions before tools", `{"functions":[1],"tools":[2],"messages":[]}`, `[2]`},
		{"neither", `{"messages":[]}`, ``},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e, err := chat.ReadEnvelope([]byte(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			if got := string(e.Tools.Of([]byte(tt.body))); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestNative(t *testing.T) {
	tests := []struct{ name, fields, want string }{
		{"nothing", `"a":1`, ""},
		{"context_management", `"context_management":[{"type":"compaction"}]`, "context_management"},
		{"context_management null", `"context_management":null`, ""},
		{"context_management of Anthropic", `"context_management":{"edits":[{"type":"clear_tool_uses_20250919"}]}`, "context_management"},
		{"context_management empty", `"context_management":[]`, ""},
		{"context_management without an edit", `"context_management":{"edits":[]}`, ""},
		{"context_management of no kind", `"context_management":"auto"`, ""},
		{"betas", `"betas":["interleaved-thinking-2025-05-14","compact-2026-01-12"]`, "betas"},
		{"betas, another", `"betas":["interleaved-thinking-2025-05-14"]`, ""},
		{"betas null", `"betas":null`, ""},
		{"anthropic_beta as one string", `"anthropic_beta":"a-1, context-management-2025-06-27"`, "anthropic_beta"},
		{"extra_body", `"extra_body":{"x":1,"truncate_prompt_tokens":-1}`, "extra_body"},
		{"extra_body, nothing asked", `"extra_body":{"x":1}`, ""},
		{"extra_body in extra_body", `"extra_body":{"extra_body":{"truncation":"auto"}}`, ""},
		{"compaction", `"compaction":{}`, "compaction"},
		{"compaction false", `"compaction":false`, ""},
		{"compaction null", `"compaction":null`, ""},
		{"truncation auto", `"truncation":"auto"`, "truncation"},
		{"truncation auto escaped", `"trunc\u0061tion":"\u0061uto"`, "truncation"},
		{"truncation disabled", `"truncation":"disabled"`, ""},
		{"transforms", `"transforms":["x","middle-out"]`, "transforms"},
		{"transforms empty", `"transforms":[]`, ""},
		{"transforms null", `"transforms":null`, ""},
		{"plugin", `"plugins":[{"id":"web"},{"id":"context-compression"}]`, "plugins"},
		{"plugin enabled", `"plugins":[{"enabled":true,"id":"context-compression","engine":"middle-out"}]`, "plugins"},
		{"plugin disabled", `"plugins":[{"id":"context-compression","enabled":false}]`, ""},
		{"plugin disabled first", `"plugins":[{"enabled":false,"id":"context-compression"}]`, ""},
		{"other plugin", `"plugins":[{"id":"web"}]`, ""},
		{"plugins of other kinds", `"plugins":["context-compression",null,7]`, ""},
		{"truncate_prompt_tokens", `"truncate_prompt_tokens":-1`, "truncate_prompt_tokens"},
		{"truncate_prompt_tokens null", `"truncate_prompt_tokens":null`, ""},
		{"first of two", `"truncation":"auto","compaction":{}`, "truncation"},
		{"below the top", `"extra":{"truncation":"auto"}`, ""},
		{"compaction item", `"messages":[{"role":"assistant","content":[{"type":"compaction"}]}]`, "compaction"},
		{"compaction trigger", `"messages":[{"type":"compaction_trigger"}]`, "compaction"},
		{"compaction summary", `"messages":[{"type":"compaction_summary","encrypted_content":"x"}]`, "compaction"},
		{"compaction item escaped", `"messages":[{"role":"assistant","content":[{"t\u0079pe":"c\u006fmpaction"}]}]`, "compaction"},
		{"a field before an item", `"truncation":"auto","messages":[{"role":"assistant","content":[{"type":"compaction"}]}]`, "truncation"},
		{"the word in text", `"messages":[{"role":"user","content":"\"type\":\"compaction\""}]`, ""},
		{"the word as a type of a property", `"tools":[{"type":"compaction"}]`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			body := `{` + tt.fields + `}`
			if !strings.Contains(tt.fields, `"messages"`) {
				body = `{"messages":[],` + tt.fields + `}`
			}
			e, err := chat.ReadEnvelope([]byte(body))
			if err != nil {
				t.Fatal(err)
			}
			if e.Native != tt.want {
				t.Errorf("got %q, want %q", e.Native, tt.want)
			}
		})
	}
}

func TestToolsOff(t *testing.T) {
	tests := map[string]bool{
		`"tool_choice":"none"`:              true,
		`"tool_choice":"n\u006fne"`:         true,
		`"tool_choice":"auto"`:              false,
		`"tool_choice":{"type":"none"}`:     false,
		`"tool_choice":null`:                false,
		`"x":{"tool_choice":"none"}`:        false,
		`"metadata":{"tool_choice":"none"}`: false,
	}
	for field, want := range tests {
		e, err := chat.ReadEnvelope([]byte(`{"messages":[],` + field + `}`))
		if err != nil {
			t.Fatal(err)
		}
		if e.ToolsOff != want {
			t.Errorf("%s: got %t, want %t", field, e.ToolsOff, want)
		}
	}
}

func TestOpaque(t *testing.T) {
	part := func(p string) string { return `"messages":[{"role":"user","content":[` + p + `]}]` }
	tests := []struct {
		name, fields string
		want         bool
	}{
		{"text", part(`{"type":"text","text":"image_url file_id"}`), false},
		{"text that quotes a part", part(`{"type":"text","text":"{\"image_url\":\"x\"}"}`), false},
		{"short text that is a name", part(`{"type":"text","text":"file"}`), false},
		{"arguments that name a file", `"messages":[{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":"{\"file\":1}"}}]}]`, false},
		{"image", part(`{"type":"image_url","image_url":{"url":"http://x"}}`), true},
		{"image by its key only", part(`{"image_url":"http://x"}`), true},
		{"escaped key", part(`{"\u0069mage_url":"http://x"}`), true},
		{"escaped type", part(`{"t\u0079pe":"\u0069mage","source":{}}`), true},
		{"every letter escaped", part(`{"\u0069\u006d\u0061\u0067\u0065\u005f\u0075\u0072\u006c":"http://x"}`), true},
		{"audio", part(`{"type":"input_audio","input_audio":{"data":"","format":"wav"}}`), true},
		{"video", part(`{"type":"video_url","video_url":{"url":"x"}}`), true},
		{"file", part(`{"type":"file","file":{"file_id":"f"}}`), true},
		{"document", part(`{"type":"document","source":{"type":"url"}}`), true},
		{"audio of an answer", `"messages":[{"role":"assistant","audio":{"id":"a"}}]`, true},
		{"no audio of an answer", `"messages":[{"role":"assistant","content":"x","audio":null}]`, false},
		{"file_id null", part(`{"type":"text","text":"x","file_id":null}`), false},
		{"stored conversation", `"previous_response_id":"r"`, true},
		{"stored conversation null", `"previous_response_id":null`, false},
		{"conversation", `"conversation":"c"`, true},
		{"conversation in metadata", `"metadata":{"conversation":"c","file":"f"}`, false},
		{"format of the answer", `"audio":{"voice":"alloy","format":"wav"},"modalities":["text","audio"]`, false},
		{"schema with common words", `"tools":[{"type":"function","function":{"parameters":{"properties":{"file":{"type":"string"},"image":{}}}}}]`, false},
		{"tool with stored files", `"tools":[{"type":"file_search","vector_store_ids":["v"]}]`, true},
		{"nested extra", `"extra_body":{"google":{"cached_content":"c"}}`, true},
		{"data sources", `"data_sources":[{"type":"azure_search"}]`, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			body := `{` + tt.fields + `}`
			if !strings.Contains(tt.fields, `"messages"`) {
				body = `{` + tt.fields + `,"messages":[]}`
			}
			e, err := chat.ReadEnvelope([]byte(body))
			if err != nil {
				t.Fatal(err)
			}
			if e.Opaque != tt.want {
				t.Errorf("got %t, want %t", e.Opaque, tt.want)
			}
		})
	}
}
