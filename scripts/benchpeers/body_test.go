package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foldgate/foldgate/compression/chat"
)

// The corpus is the repository's own text, found from its root.
func TestMain(m *testing.M) {
	if err := os.Chdir(filepath.Join("..", "..")); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

func TestChatBodies(t *testing.T) {
	t.Parallel()
	for _, size := range []int{1 << 10, 64 << 10, 512 << 10, 2 << 20} {
		body := chatBody("gpt-4o", size, true, question(placeTurn))
		if got := len(body); got > size+64 || got < size-2500 {
			t.Errorf("%d bytes, want about %d", got, size)
		}
		if !json.Valid(body) {
			t.Errorf("%d bytes: no JSON", size)
		}
		e, err := chat.ReadEnvelope(body)
		if err != nil || !e.Stream || e.Model != "gpt-4o" {
			t.Errorf("%d bytes: envelope %+v, %v", size, e, err)
		}
		r, err := chat.Parse(body, e)
		if err != nil {
			t.Fatal(err)
		}
		for i := 2; i < len(r.Messages); i++ {
			if r.Messages[i].Role == r.Messages[i-1].Role {
				t.Errorf("%d bytes: messages %d and %d have one role", size, i-1, i)
			}
		}
	}
}

// Each comparison's window puts its conversation where the comparison wants it.
func TestWindowsFitTheirConversations(t *testing.T) {
	t.Parallel()
	for _, l := range []large{counted(128 << 10), folded(128<<10, false), folded(128<<10, true)} {
		flag, tokens, err := l.window()
		if err != nil || tokens < 10_000 {
			t.Fatalf("%s: %d tokens, %v", l.model, tokens, err)
		}
		if !strings.HasPrefix(flag, l.model+"=") {
			t.Errorf("flag %q", flag)
		}
	}
}

func TestAnswersHaveOneLength(t *testing.T) {
	t.Parallel()
	for _, tokens := range []int{0, 190, 12_345_678} {
		got := answerJSON(tokens)
		if len(got) != answerLength || !json.Valid(got) || !strings.Contains(string(got), marker) {
			t.Errorf("%d tokens: %d bytes: %s", tokens, len(got), got)
		}
	}
}

func TestCountSpans(t *testing.T) {
	t.Parallel()
	field := func(number byte, inner ...[]byte) []byte {
		var all []byte
		for _, b := range inner {
			all = append(all, b...)
		}
		return append([]byte{number<<3 | 2, byte(len(all))}, all...)
	}
	span := field(2, []byte{1<<3 | 0, 7, 6<<3 | 5, 1, 2, 3, 4, 7<<3 | 1, 1, 2, 3, 4, 5, 6, 7, 8})
	export := append(field(1, field(1, nil), field(2, field(1, nil), span, span)), field(1, field(2, span))...)
	if got := countSpans(export); got != 3 {
		t.Errorf("%d spans, want 3", got)
	}
	for i := range export {
		_ = countSpans(export[:i]) // cut anywhere: no panic, and never more
		if got := countSpans(export[:i]); got > 3 {
			t.Errorf("%d spans in %d bytes", got, i)
		}
	}
}

func TestTablesStandBetweenTheirMarks(t *testing.T) {
	t.Parallel()
	begin, end := marks("pass")
	got, err := replaced("a\n"+begin+"old\n"+end+"b\n", "pass", "new")
	if err != nil || got != "a\n"+begin+"\nnew\n"+end+"b\n" && strings.Contains(got, "old") {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := replaced("a\n"+begin, "pass", "new"); err == nil {
		t.Error("a document without the second mark was taken")
	}
	if err := hasMarks(filepath.Join("docs", "performance.md"), partNames()); err != nil {
		t.Error(err)
	}
}

func TestPlot(t *testing.T) {
	t.Parallel()
	got := plot([]curve{{"a", []point{{messages: 10, ms: 1, allocs: 3}, {messages: 20, ms: 2, allocs: -1}}}, {"b", []point{{messages: 20, ms: 4}}}})
	if strings.Count(got, "<polyline") != 12 || strings.Contains(got, "NaN") || strings.Contains(got, "Inf") || !strings.HasSuffix(got, "</svg>\n") {
		t.Errorf("%.2000s", got)
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	var quiet strings.Builder
	for _, args := range [][]string{{"-only", "nothing"}, {"-pairs", "6"}, {"-peer", "x"}, {"word"}, {"-o", "no-such-file"}} {
		if _, err := parse(args, &quiet); err == nil {
			t.Errorf("%q was taken", args)
		}
	}
	o, err := parse([]string{"-quick", "-only", "cut,scale", "-peer", "ferro=/bin/true"}, &quiet)
	if err != nil || len(o.parts) != 2 || o.given["ferro"] != "/bin/true" {
		t.Errorf("%+v, %v", o, err)
	}
}

// What scripts do inside themselves is no round trip; a script is known by its
// text, and then by its digest.
func TestMonitorNamesOperations(t *testing.T) {
	t.Parallel()
	m := &monitor{seen: map[string]int{}, names: map[string]string{}, scripts: map[string]string{"read": "return 1\n"}}
	line := `+1700000000.1 [0 127.0.0.1:5000] "eval" "-- before\nreturn 1\n" "2" "a" "b"`
	f := command.FindStringSubmatch(line)
	if f == nil || f[1] != "127.0.0.1:5000" {
		t.Fatalf("%q", f)
	}
	m.note("evalsha", "abc")
	m.note("eval", "-- before\nreturn 1\n")
	for digest := range m.names {
		m.note("evalsha", digest)
	}
	m.note("get", "k")
	m.note("info", "")
	if m.seen["read"] != 2 || m.seen["get"] != 1 || len(m.seen) != 3 {
		t.Errorf("seen %v", m.seen)
	}
	if f := command.FindStringSubmatch(`+1700000000.1 [0 lua] "hget" "k" "f"`); f == nil || f[1] != "lua" {
		t.Errorf("%q", f)
	}
}
