package foldtest

import (
	"bytes"
	"fmt"

	"github.com/foldgate/foldgate/compression"
	"github.com/foldgate/foldgate/compression/window"
)

// Breaches lists what a folded request breaks; nil is a good one. original is
// what the client sent, handoff the text that stands for the covered messages
// (whatever it is where nothing is covered), b the budget it was folded under.
// Each breach begins with the name of its rule and a colon. It may quote the
// messages.
func Breaches(original []byte, f compression.Folded, handoff string, b window.Budget) []string {
	o, err := Read(original)
	if err != nil {
		return []string{"json: the original: " + err.Error()}
	}
	return o.Breaches(f, handoff, b)
}

// Original is what a client sent, read once for many judgements. Safe for
// concurrent use.
type Original struct {
	body  []byte
	was   request
	taken []Strict // the strict backends that take it
}

// Read reads what a client sent. It fails where this package's reader cannot:
// on what is no JSON to encoding/json, or has no messages with roles.
func Read(original []byte) (*Original, error) {
	was, err := read(original)
	if err != nil {
		return nil, err
	}
	o := &Original{body: original, was: was}
	for _, s := range Stricts() {
		if len(validate(was.messages, s)) == 0 {
			o.taken = append(o.taken, s)
		}
	}
	return o, nil
}

// Breaches is the function of that name for this original, and lists also, under
// the rule "strict", the strict backends that took the original and refuse what
// is forwarded.
func (o *Original) Breaches(f compression.Folded, handoff string, b window.Budget) []string {
	j := &judge{was: o.was.messages, folded: f, handoff: handoff, budget: b, told: map[int]string{}}
	if f.Covered == 0 && bytes.Equal(o.body, f.Body) { // nothing was done to it
		j.judgeSize()
		return j.bad
	}
	sent, err := read(f.Body)
	if err != nil {
		return []string{"json: " + err.Error()}
	}
	j.sent = sent.messages
	if o.was.before != sent.before || o.was.after != sent.after {
		j.say("fields", "a field outside messages changed")
	}
	for j.head < len(j.was) && j.was[j.head].leading() {
		j.head++
	}
	if !j.divide() {
		return j.bad
	}
	j.judgeHead()
	j.judgeCarrier()
	j.judgeTail()
	j.judgeShrunk()
	j.judgeGroups()
	j.judgePairing()
	j.judgeIDs()
	j.judgeNeighbours()
	j.judgeUsers()
	j.judgeLast()
	j.judgeMarkers()
	j.judgeWord(o.was.before + o.was.after)
	j.judgeSize()
	for _, s := range o.taken {
		if bad := validate(j.sent, s); len(bad) > 0 {
			j.say("strict", "%s took it and refuses it now: %s", s, bad[0])
		}
	}
	return j.bad
}

// judge knows both requests and how the sent one is made of the other.
type judge struct {
	was, sent []message
	folded    compression.Folded
	handoff   string
	budget    window.Budget

	head    int // messages of the head
	first   int // the first message of the rest, in was
	shift   int // was[i] of the rest is sent[i-shift]
	carrier int // where the handoff stands in sent, -1 if nowhere
	source  int // whose copy the carrier is, or which message it is, in was; -1: the gateway's own
	changed int // messages that differ by more than leading text
	bad     []string

	recalled bool           // some message carries passages
	told     map[int]string // what messages of was say, of those that were quoted
}

func (j *judge) say(rule, format string, args ...any) {
	j.bad = append(j.bad, rule+": "+fmt.Sprintf(format, args...))
}

// divide finds the parts of both requests.
func (j *judge) divide() bool {
	f := j.folded
	j.first, j.carrier, j.source = j.head+f.Covered, -1, -1
	if f.Covered < 0 || j.first > len(j.was) || f.Covered > 0 && j.first == len(j.was) {
		j.say("number", "%d messages covered of %d after the head", f.Covered, len(j.was)-j.head)
		return false
	}
	extra := len(j.sent) - j.head - (len(j.was) - j.first)
	if extra < 0 || extra > 1 || f.Covered == 0 && extra > 0 {
		j.say("number", "%d messages sent, head %d, rest %d, covered %d", len(j.sent), j.head, len(j.was)-j.first, f.Covered)
		return false
	}
	j.shift = f.Covered - extra
	if f.Covered == 0 {
		return true
	}
	j.carrier = j.head
	if extra == 0 {
		j.source = j.first
		if !j.was[j.first].carries() {
			j.say("carrier", "the first message of the rest is no user's that could carry the handoff")
		}
		return true
	}
	if j.was[j.first].carries() {
		j.say("carrier", "the rest begins with a user's message, and another carries the handoff")
	}
	for i := j.first - 1; i >= j.head && j.source < 0; i-- {
		if j.was[i].carries() {
			j.source = i
		}
	}
	return true
}

func (j *judge) judgeHead() {
	for i := range j.head {
		if !bytes.Equal(j.was[i].raw, j.sent[i].raw) {
			j.say("head", "message %d changed", i)
		}
	}
}

// judgeTail judges the rest, but for a carrier in it.
func (j *judge) judgeTail() {
	lastUser := j.lastUser()
	for i := j.first; i < len(j.was); i++ {
		if i == j.source {
			continue
		}
		was, sent := j.was[i], j.sent[i-j.shift]
		if bytes.Equal(was.raw, sent.raw) {
			continue
		}
		if i == lastUser && was.carries() {
			j.judgeLed(was, sent, "", i)
			continue
		}
		j.changed++
		for _, s := range shrunk(was, sent) {
			j.say("shrunk", "message %d: %s", i, s)
		}
	}
}

// lastUser is the user's last message that can carry text, -1 if there is none.
func (j *judge) lastUser() int {
	for i := len(j.was) - 1; i >= j.head; i-- {
		if j.was[i].role == "user" {
			if !j.was[i].carries() {
				return -1
			}
			return i
		}
	}
	return -1
}

// judgeShrunk judges how many messages changed.
func (j *judge) judgeShrunk() {
	if j.changed > j.folded.Shrunk {
		j.say("kept", "%d messages changed, %d were shrunk", j.changed, j.folded.Shrunk)
	}
	if j.folded.Shrunk > 0 && j.changed == 0 {
		j.say("kept", "%d messages were shrunk, none changed", j.folded.Shrunk)
	}
}

// judgeNeighbours: no second system message, nothing adjacent that was not.
func (j *judge) judgeNeighbours() {
	count := func(messages []message) map[string]int {
		n := map[string]int{}
		for _, m := range messages {
			if m.leading() {
				n[m.role]++
			}
		}
		return n
	}
	had := count(j.was[:j.head])
	for role, n := range count(j.was[j.first:]) {
		had[role] += n
	}
	for role, n := range count(j.sent) {
		if n != had[role] {
			j.say("system", "%d messages of role %s, before %d in head and rest", n, role, had[role])
		}
	}
	for i := 1; i < len(j.sent); i++ {
		if j.sent[i].role != j.sent[i-1].role {
			continue
		}
		if i < j.head {
			continue
		}
		if at := i + j.shift; at > j.first && j.was[at].role == j.was[at-1].role {
			continue // both of the rest, as they came
		}
		if j.folded.Covered == 0 {
			continue
		}
		j.say("adjacent", "messages %d and %d are both of role %s", i-1, i, j.sent[i].role)
	}
}
