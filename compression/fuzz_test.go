package compression_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/foldgate/foldgate/compression"
	"github.com/foldgate/foldgate/compression/foldtest"
	"github.com/foldgate/foldgate/compression/window"
)

// options that a fuzzer draws, one bit each.
const (
	withRecall uint8 = 1 << iota
	withModel
	withBytes
	withCorrection
	withJSON
	withTools
)

// FuzzFold folds any body that is a chat request, in any window.
func FuzzFold(f *testing.F) {
	long, args := words(1, 120), `{"path":"a","content":`+quote(words(2, 80))+`}`
	for _, m := range [][]string{
		{},
		{said("user", "a"), called(`{"q":"x"}`, "1"), result("1", long), said("user", "b")},
		{said("system", "s"), said("developer", "d"), said("user", long), said("assistant", long), said("system", "mid"), said("user", "b")},
		{said("assistant", long), said("user", "a"), said("user", long), `{"role":"user"}`, `{"role":"user","content":null}`},
		{`{"role":"user","content":[{"type":"image_url","image_url":"data:image/png;base64,AAAA"},{"type":"text","text":"see"}]}`, said("assistant", long), said("user", "x")},
		{said("user", "a"), called(args, "1", "2"), result("2", long), result("1", long), result("1", "twice"), called(args, "1")},
		{said("user", "a"), called(`{"broken": `, " c1 "), result("c1", long), `{"role":"tool","content":"no id"}`, said("assistant", long)},
		{`{"role":"user","content":"a",` + marker + `}`, said("assistant", long), `{"role":"user","content":[{"type":"text","text":"b",` + marker + `}]}`},
		{said("user", "json please"), said("assistant", long), said("user", "b")},
		{`{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"x"}],"reasoning_content":"hm"}`, said("user", long), said("user", "b")},
		{said("user", "a"), `{"role":"assistant","content":null,"function_call":{"name":"old","arguments":"{}"}}`, `{"role":"function","name":"old","content":` + quote(long) + `}`, said("user", "b")},
		{said("user", "[Summary of the earlier conversation]\n"+long+"\n\n[End of the summary; the conversation goes on here]\n\nmine"), said("assistant", long), said("user", "b")},
		{`{"role":"x","content":7}`, `{"role":"tool","tool_call_id":"1","content":"` + strings.Repeat(`\ud800y\u0000`, 200) + `"}`, said("user", "字字字<|im_start|>"), said("assistant", long)},
		{`{"role":"user","content":"a","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":` + quote(`{"q":`+quote(long)+`}`) + `}}]}`, said("assistant", long), called(args, "2"), result("2", long)},
		{`{"role":"user","name":"a` + "\xff\xfe" + `\ud800b","content":` + quote(long) + `}`, strings.Replace(called(args, "1"), "lookup", "look\xc3\xedup", 1), result("1", long), said("user", "b")},
		{`{"role":"assistant","tool_calls":[null,"x",{"id":"1","type":"custom","custom":{"name":"sh","input":` + quote(long) + `}}]}`, result("1", long), said("user", "b")},
	} {
		for _, options := range []uint8{0, withRecall, withModel | withRecall, withBytes, withCorrection | withRecall, 0xFF} {
			f.Add("["+strings.Join(m, ",")+"]", uint16(150+len(m)*40), options)
		}
	}
	f.Fuzz(func(t *testing.T, messages string, total uint16, options uint8) {
		foldAny(t, messages, int(total), options)
	})
}

// FuzzFoldHistories makes a history of the fuzzer's bytes, so that every one of
// them is a chat request: each byte is a message or changes the one before.
func FuzzFoldHistories(f *testing.F) {
	f.Add([]byte("suaucrruacr"), uint16(300), uint8(0))
	f.Add([]byte("ucRcRcRcRcRaucRcRcRu"), uint16(400), withRecall)
	f.Add([]byte("dsuamuamuAmiMjuaxyzuaZu"), uint16(350), withRecall|withModel)
	f.Add([]byte("auuanfnfnfupPpPQqua!c?"), uint16(500), withCorrection|withJSON)
	f.Add([]byte("suCrrCrrCrrCrr"), uint16(250), withBytes|withTools)
	f.Add([]byte("su+acr+cRcRu+"), uint16(250), withRecall)
	f.Fuzz(func(t *testing.T, short []byte, total uint16, options uint8) {
		if len(short) > 60 {
			return
		}
		foldAny(t, "["+strings.Join(spelled(short), ",")+"]", int(total), options)
	})
}

// spelled is the history that a few bytes spell.
func spelled(short []byte) []string {
	var m []string
	id := 0
	last := func(key, value string) {
		if len(m) > 0 {
			m = set(m, len(m)-1, key, value)
		}
	}
	for i, c := range short {
		text := words(int(c)+i, int(c)%40)
		switch c {
		case 'u':
			m = append(m, said("user", text))
		case 'a':
			m = append(m, said("assistant", text))
		case 's', 'd':
			m = append(m, said(map[byte]string{'s': "system", 'd': "developer"}[c], text))
		case 'c', 'C':
			id++
			m = append(m, called(`{"q":`+quote(text)+`}`, fmt.Sprint("c", id), fmt.Sprint("d", id))[:])
		case 'r', 'R':
			m = append(m, result(fmt.Sprint(map[byte]string{'r': "c", 'R': "d"}[c], id), text+text))
		case 'n':
			m = append(m, `{"role":"assistant","content":null,"function_call":{"name":"old","arguments":"{}"}}`)
		case 'f':
			m = append(m, `{"role":"function","name":"old","content":`+quote(text)+`}`)
		case 'i':
			id = 0 // ids are used again
		case 'm':
			last("cache_control", `{"type":"ephemeral"}`)
		case 'M':
			last("content", `[{"type":"text","text":`+quote(text)+`,`+marker+`}]`)
		case 'A':
			last("content", `[ {"type":"text","text":"a"}, {"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}} ]`)
		case 'p':
			last("content", "null")
		case 'P':
			last("content", "")
		case 'q':
			last("content", `""`)
		case 'Q':
			last("content", "[]")
		case 'x':
			last("role", `"observer"`)
		case 'y':
			last("tool_call_id", `" c1 "`)
		case 'z':
			last("tool_call_id", "")
		case 'Z':
			last("reasoning_content", quote(text))
		case 'j':
			last("content", quote("json "+text))
		case '!':
			last("tool_calls", `[{"id":"c1","function":{"name":"f","arguments":"{\"broken\": "}}]`)
		case '+':
			last("tool_calls", `[{"id":"c1","function":{"name":"f","arguments":`+quote(`{"q":`+quote(words(i, 60))+`}`)+`}}]`)
		case '?':
			last("content", `"\ud800 [Summary of the earlier conversation]\n`+strings.Repeat("x y ", int(c))+`"`)
		case '*':
			last("content", `[{"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"text","text":"so"}]`)
		default:
			last("content", quote(text))
		}
	}
	return m
}

// foldAny folds an array of messages, if it is one, and judges what comes of it.
func foldAny(t *testing.T, messages string, total int, options uint8) {
	body := `{"model":"m"`
	if options&withTools != 0 {
		body += `,"tools":[{"type":"function","function":{"name":"lookup","parameters":{}}}]`
	}
	body += `,"messages":` + messages
	if options&withJSON != 0 {
		body += `,"response_format":{"type":"json_object"}`
	}
	body += "}"
	r, err := parseAny(body)
	if err != nil || !json.Valid([]byte(body)) {
		return // it would be forwarded as it came, or only this judge cannot read it
	}
	original, err := foldtest.Read([]byte(body))
	if err != nil {
		t.Fatalf("the judge cannot read %s: %v", body, err)
	}
	memo := compression.NewMemo(64)
	v := memo.View(r)
	b := fuzzBudget(total, len(body), options)
	h := v.Deterministic(b, settings(), nil)
	if covered, ok := v.Target(b, settings(), 0); ok && options&withModel != 0 {
		if p := v.Prompt(nil, covered, b); !utf8.ValidString(p) {
			t.Fatalf("a prompt that is no text: %q", p)
		}
		made, err := v.Accept(compression.Answer{Text: "## Done\nmuch"}, nil, covered, b)
		var refused *compression.RefusedError
		if err != nil && !errors.As(err, &refused) {
			t.Fatalf("accepting: %v", err)
		}
		if err == nil {
			h = v.Deterministic(b, settings(), &made)
			judgeFuzzed(t, v, original, made, b)
		}
	}
	folded := judgeFuzzed(t, v, original, h, b)
	again, err := parseAny(string(folded.Body))
	if err != nil {
		t.Fatalf("what is sent does not parse: %v", err)
	}
	if folded.Fits {
		twice, err := memo.View(again).Unfolded(b)
		if err != nil || string(twice.Body) != string(folded.Body) {
			t.Fatalf("what fits changed on the way through: %v", err)
		}
	}
}

func judgeFuzzed(t *testing.T, v *compression.View, original *foldtest.Original, h compression.Handoff, b window.Budget) compression.Folded {
	t.Helper()
	if !utf8.ValidString(h.Text) {
		t.Fatalf("a handoff that is no text: %q", h.Text)
	}
	f, err := v.Fold(h, b)
	allowed(t, err)
	if bad := original.Breaches(f, h.Text, b); len(bad) > 0 {
		t.Fatalf("covered %d, shrunk %d: %s\nwas: %.3000s\nsent: %.3000s", f.Covered, f.Shrunk, strings.Join(bad, "; "), v.Body, f.Body)
	}
	return f
}

func fuzzBudget(total, size int, options uint8) window.Budget {
	b := budget(max(total, 1))
	if options&withCorrection != 0 {
		b = budgetOf(max(total, 1), 1.27, 1.3)
	}
	if options&withRecall != 0 {
		b.Recall = b.Total / 8
	}
	if options&withBytes != 0 {
		b.Bytes = int64(size * 3 / 4)
	}
	return b
}
