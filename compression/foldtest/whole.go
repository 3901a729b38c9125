package foldtest

import (
	"bytes"
	"slices"
	"strings"
)

// What has to hold of the request as a whole.

// judgeUsers: the user's words are there.
func (j *judge) judgeUsers() {
	real := func(messages []message) bool {
		return slices.ContainsFunc(messages, func(m message) bool { return m.role == "user" })
	}
	if !real(j.was) {
		return
	}
	if !real(j.sent) {
		j.say("user", "there is no user's message any more")
	}
	u := j.lastUser()
	if u < 0 {
		return
	}
	want := texts(j.was[u].content)
	for _, m := range j.sent {
		if m.role != "user" {
			continue
		}
		have := strings.Join(texts(m.content), "\x00")
		if !slices.ContainsFunc(want, func(t string) bool { return !strings.Contains(have, t) }) {
			return
		}
	}
	j.say("user", "the last user message's text is not there verbatim")
}

// judgeLast: the end is the end, and what waits for an answer is as it came.
func (j *judge) judgeLast() {
	if len(j.was) == 0 || len(j.sent) == 0 {
		return
	}
	was, sent := j.was[len(j.was)-1], j.sent[len(j.sent)-1]
	if was.role != sent.role {
		j.say("last", "the last message's role is %s, was %s", sent.role, was.role)
	}
	// The last message that is no result has its calls in flight where a result
	// of one of them is not there yet.
	at := len(j.was) - 1
	for at > j.first && j.was[at].result() {
		at--
	}
	if at < j.first || !j.was[at].waits(j.was[at+1:]) {
		return
	}
	for _, key := range []string{"tool_calls", "function_call"} {
		if !bytes.Equal(j.was[at].fields[key], j.sent[at-j.shift].fields[key]) {
			j.say("flight", "%s of message %d waits for results and changed", key, at)
		}
	}
}

// waits reports whether a call of m has no result among those that follow. One
// without an id answers any one.
func (m message) waits(results []message) bool {
	open := map[string]bool{}
	for _, c := range m.calls {
		open[c.id] = true
	}
	unnamed := 0
	for _, r := range results {
		if r.callID == "" && !open[""] {
			unnamed++
		}
		delete(open, r.callID)
	}
	return len(open) > unnamed || m.single != nil && len(results) == 0
}

// judgeMarkers: the middle's last marker moved, and none was made.
func (j *judge) judgeMarkers() {
	count := func(messages []message) (n int) {
		for _, m := range messages {
			n += len(m.markers())
		}
		return n
	}
	if had, n := count(j.was), count(j.sent); n > had {
		j.say("marker", "%d cache markers, before %d", n, had)
	}
	if j.carrier < 0 {
		return
	}
	for i := j.first - 1; i >= j.head; i-- {
		if i == j.source {
			continue // a copy keeps its own
		}
		if gone := j.was[i].markers(); len(gone) > 0 {
			if !slices.Contains(j.sent[j.carrier].markers(), gone[len(gone)-1]) {
				j.say("marker", "the middle's last marker is gone")
			}
			return
		}
	}
}

// judgeWord: a request for a json_object still says so.
func (j *judge) judgeWord(fields string) {
	says := func(messages []message) bool {
		for _, m := range messages {
			if strings.Contains(strings.ToLower(strings.Join(texts(m.content), " ")), "json") {
				return true
			}
		}
		return false
	}
	if strings.Contains(fields, "json_object") && says(j.was) && !says(j.sent) {
		j.say("word", "json is said nowhere any more")
	}
}

func (j *judge) judgeSize() {
	f, b := j.folded, j.budget
	fits := (b.Usable <= 0 || f.Tokens <= b.Usable) && (b.Bytes <= 0 || int64(len(f.Body)) <= b.Bytes)
	if f.Fits != fits {
		j.say("size", "fits is %v with %d tokens of %d usable, %d bytes of %d", f.Fits, f.Tokens, b.Usable, len(f.Body), b.Bytes)
	}
	if f.Tokens != b.Corrected(f.Counted) {
		j.say("size", "%d tokens are %d when corrected, not %d", f.Counted, b.Corrected(f.Counted), f.Tokens)
	}
	if j.recalled != (f.Recalled > 0) {
		j.say("recall", "%d passages, and there are some: %v", f.Recalled, j.recalled)
	}
}
