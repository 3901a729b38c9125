package main

import (
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// The checks themselves: each finds the breach that it is there for.

func newBook() (*ledger, *atomic.Pointer[ledger]) {
	led, at := newLedger("checks"), new(atomic.Pointer[ledger])
	at.Store(led)
	return led, at
}

func TestMonitorFindsBreaches(t *testing.T) {
	t.Parallel()
	const hash = "foldgate:1:{k}:conversation"
	claim := func(fence string) string { return `"HSET" "` + hash + `" "owner" "` + fence + `" "phase" "working"` }
	commit := func(fence string) string {
		return `"HSET" "` + hash + `" "checkpoints" "` + fence + ` 0 4 ab 1 1 1 r" "phase" "committed" "handoff:` + fence + `" "a \"b\"\n"`
	}
	for _, c := range []struct {
		name   string
		writes []string
		source string
		wants  string // of a breach; empty: none
		judged int
	}{
		{name: "in order", writes: []string{claim("1/a"), commit("1/a"), claim("2/b"), commit("2/b")}, judged: 2},
		{name: "stale commit", writes: []string{claim("1/a"), claim("2/b"), commit("1/a")}, wants: "a commit of 1/a while the owner was 2/b"},
		{name: "second commit", writes: []string{claim("1/a"), commit("1/a"), commit("1/a")}, wants: "in phase committed", judged: 1},
		{name: "number repeats", writes: []string{claim("2/a"), claim("2/b")}, wants: "owner 2/b after 2/a"},
		{name: "after its flag", writes: []string{claim("1/a"), `"HSET" "` + hash + `" "cancel" "1"`, commit("1/a")}, wants: "after its flag was raised"},
		{name: "flag removed", writes: []string{claim("1/a"), `"HSET" "` + hash + `" "cancel" "1"`, `"HDEL" "` + hash + `" "cancel"`, commit("1/a")}, judged: 1},
		{name: "past the scripts", source: "127.0.0.1:1", writes: []string{claim("1/a")}, wants: "past the scripts"},
		{name: "owner not seen", writes: []string{commit("1/a")}},
		{name: "forgotten", writes: []string{claim("2/a"), `"DEL" "` + hash + `"`, claim("1/b"), commit("1/b")}, judged: 1},
	} {
		led, at := newBook()
		m := newMonitor("", at)
		source := "lua"
		if c.source != "" {
			source = c.source
		}
		for _, line := range c.writes {
			command, from := parseMonitor(`+1700000000.000001 [0 ` + source + `] ` + line + "\r\n")
			if len(command) < 2 {
				t.Fatalf("%s: cannot read %s", c.name, line)
			}
			m.take(command, from)
		}
		found := strings.Join(led.failures(), "\n")
		if c.wants == "" && found != "" || !strings.Contains(found, c.wants) || led.judgedCommits() != c.judged {
			t.Errorf("%s: found %q, %d judged; want %q, %d", c.name, found, led.judgedCommits(), c.wants, c.judged)
		}
	}
}

func TestAuditorFindsBreaches(t *testing.T) {
	t.Parallel()
	registry := newRegistry()
	conv, other := registry.make(1), registry.make(2)
	key, err := conv.key(anchorTurns)
	if err != nil {
		t.Fatal(err)
	}
	digest, err := conv.digest(8)
	if err != nil {
		t.Fatal(err)
	}
	right := func() (map[string]conversationRecord, map[string]time.Duration) {
		return map[string]conversationRecord{key: {gen: "3", fields: map[string]string{
				"owner": "3/a", "phase": "committed", "snap": "3/a", "digest": digest, "covered": "8",
				"checkpoints": "3/a 0 8 " + digest + " 1 1 1 r", "handoff:3/a": "told of " + conv.mark(),
			}}}, map[string]time.Duration{
				"foldgate:1:{" + key + "}:gen": time.Minute, "foldgate:1:{" + key + "}:conversation": time.Minute,
			}
	}
	for _, c := range []struct {
		name  string
		spoil func(map[string]conversationRecord, map[string]time.Duration)
		wants string
	}{
		{"right", func(map[string]conversationRecord, map[string]time.Duration) {}, ""},
		{"digest", func(m map[string]conversationRecord, _ map[string]time.Duration) {
			m[key].fields["checkpoints"] = "3/a 0 6 " + digest + " 1 1 1 r"
		}, "for 6 messages"},
		{"target", func(m map[string]conversationRecord, _ map[string]time.Duration) { m[key].fields["covered"] = "9" }, "owner has digest"},
		{"no handoff", func(m map[string]conversationRecord, _ map[string]time.Duration) {
			delete(m[key].fields, "handoff:3/a")
		}, "has no handoff"},
		{"another's words", func(m map[string]conversationRecord, _ map[string]time.Duration) {
			m[key].fields["handoff:3/a"] = "told of " + other.mark()
		}, "holds " + other.mark()},
		{"counter behind", func(m map[string]conversationRecord, _ map[string]time.Duration) {
			m[key] = conversationRecord{gen: "2", fields: m[key].fields}
		}, "the counter is at 2"},
		{"no time to live", func(_ map[string]conversationRecord, ttl map[string]time.Duration) {
			ttl["foldgate:1:{"+key+"}:gen"] = -1
		}, "no time to live"},
		{"unknown key", func(m map[string]conversationRecord, _ map[string]time.Duration) { m["ab"] = m[key] }, "ab is the key of no conversation"},
		{"foreign key", func(_ map[string]conversationRecord, ttl map[string]time.Duration) { ttl["other"] = time.Minute }, "no key of the layout"},
	} {
		led, at := newBook()
		a := newAuditor(nil, registry, at)
		found, ttls := right()
		c.spoil(found, ttls)
		a.judge(found, ttls)
		if got := strings.Join(led.failures(), "\n"); c.wants == "" && got != "" || !strings.Contains(got, c.wants) {
			t.Errorf("%s: found %q, want %q", c.name, got, c.wants)
		}
	}

	led, at := newBook()
	a := newAuditor(nil, registry, at)
	for _, gen := range []string{"5", "4"} {
		a.judge(map[string]conversationRecord{key: {gen: gen}}, nil)
	}
	if got := strings.Join(led.failures(), "\n"); !strings.Contains(got, "the counter went from 5 to 4") {
		t.Errorf("found %q", got)
	}
}

func TestAnswersAreJudged(t *testing.T) {
	t.Parallel()
	const nonce, mark = "nonce-1", "mk-t0-c1-"
	text := answerText(nonce, mark)
	var events strings.Builder
	for i := range pieces {
		events.WriteString(delta(piece(i, nonce, mark)))
	}
	half := events.String()[:len(events.String())/2]
	half = half[:strings.LastIndex(half, "data: ")]
	for _, c := range []struct{ name, raw, wants string }{
		{"whole", events.String() + streamEnd, kindAnswered},
		{"no end mark", events.String(), kindShort},
		{"half with an end mark", half + streamEnd, kindShort},
		{"another's", strings.ReplaceAll(events.String(), nonce, "nonce-2") + streamEnd, kindForeign},
		{"twice", events.String() + events.String() + streamEnd, kindForeign},
		{"an error in it", half + `data: {"error":{"code":"x"}}` + "\n\n" + streamEnd, kindInStream},
	} {
		if kind, detail := judgeStream(c.raw, nonce, mark); kind != c.wants {
			t.Errorf("stream, %s: %s (%s), want %s", c.name, kind, detail, c.wants)
		}
	}
	for _, c := range []struct{ name, raw, wants string }{
		{"whole", whole(text), kindAnswered},
		{"half", whole(text)[:200], kindShort},
		{"another's", whole(answerText("nonce-2", mark)), kindForeign},
	} {
		if kind, detail := judgeWhole([]byte(c.raw), nonce, mark); kind != c.wants {
			t.Errorf("whole, %s: %s (%s), want %s", c.name, kind, detail, c.wants)
		}
	}
}

func TestForwardedRequestsAreJudged(t *testing.T) {
	t.Parallel()
	conv := &conversation{tenant: 1, id: 7}
	type message = struct{ Role, Content string }
	original := func(turns int) (list []message) {
		list = append(list, message{"system", conv.mark()})
		for i := range turns {
			if i > 0 {
				list = append(list, message{"assistant", conv.mark()})
			}
			list = append(list, message{"user", conv.lastQuestion(i + 1)})
		}
		return list
	}
	folded := []message{{"system", conv.mark()}, {"user", "handoff of " + conv.mark()}, {"assistant", conv.mark()}, {"user", conv.lastQuestion(oversizeTurns)}}
	for _, c := range []struct {
		name     string
		turns    int
		messages []message
		raw      string
		secret   string
		wants    string
	}{
		{name: "as it came", turns: smallTurns, messages: original(smallTurns)},
		{name: "folded", turns: oversizeTurns, messages: folded},
		{name: "folded too early", turns: smallTurns, messages: folded[1:], wants: "the system message is missing"},
		{name: "another's words", turns: smallTurns, messages: original(smallTurns), raw: "mk-t1-c8-", wants: "stands in a request of"},
		{name: "another's credential", turns: smallTurns, messages: original(smallTurns), secret: "Bearer tenant-2", wants: "credential"},
		{name: "old question", turns: oversizeTurns, messages: folded[:2], wants: "not the question of turn"},
		{name: "two of a role", turns: oversizeTurns, messages: append([]message{folded[0], folded[1]}, folded[1:]...), wants: "after one of user"},
		{name: "does not fit", turns: oversizeTurns, messages: []message{folded[0], folded[1], {"assistant", strings.Repeat("alpha bravo ", 4000)}, folded[3]}, wants: "and still"},
	} {
		h := http.Header{}
		h.Set(headMark, conv.mark())
		h.Set(headTurns, strconv.Itoa(c.turns))
		h.Set("Authorization", conv.credential())
		if c.secret != "" {
			h.Set("Authorization", c.secret)
		}
		got := (&backend{window: window}).judge([]byte(c.raw), h, c.messages)
		if c.wants == "" && got != "" || !strings.Contains(got, c.wants) {
			t.Errorf("%s: %q, want %q", c.name, got, c.wants)
		}
	}
}
