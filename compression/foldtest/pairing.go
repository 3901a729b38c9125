package foldtest

import "slices"

// judgeGroups: no result is parted from its call.
func (j *judge) judgeGroups() {
	if j.folded.Covered == 0 {
		return
	}
	if j.was[j.first].result() {
		j.say("group", "the rest begins with a result")
	}
	latest := map[string]int{}
	for i, m := range j.was {
		for _, c := range m.calls {
			if c.id != "" && !m.cannotCall() { // as in faults
				latest[c.id] = i
			}
		}
		if i < j.first || m.role != "tool" || m.callID == "" {
			continue
		}
		if at, ok := latest[m.callID]; ok && at < j.first && at >= j.head {
			j.say("group", "message %d answers a call of message %d, which is covered", i, at)
		}
	}
}

// judgePairing: each message of the rest has the faults that it had.
func (j *judge) judgePairing() {
	was, sent := faults(j.was), faults(j.sent)
	for i := j.first; i < len(j.was); i++ {
		a, b := was[i], sent[i-j.shift]
		for _, f := range b {
			if !slices.Contains(a, f) {
				j.say("pairing", "message %d: %s, which it was not before", i, f)
			}
		}
		for _, f := range a {
			if !slices.Contains(b, f) {
				j.say("pairing", "message %d: %s before and not now", i, f)
			}
		}
	}
	for i := range j.first - j.shift {
		for _, f := range sent[i] {
			if i >= j.head || !slices.Contains(was[i], f) {
				j.say("pairing", "sent message %d: %s", i, f)
			}
		}
	}
}

// faults are, by message, what breaks the pairing of calls and results: a result
// that answers no call of the message that the run of results follows, or one
// answered already; a call that no such result answers.
func faults(messages []message) [][]string {
	out := make([][]string, len(messages))
	for i := 0; i < len(messages); i++ {
		open, at := map[string]int{}, i
		switch m := messages[i]; {
		case m.result():
			at-- // a run that follows nothing
		case m.role == "user" || m.leading(): // no API lets them call
		default:
			for _, c := range m.calls {
				open["id "+c.id]++
			}
			if c := m.single; c != nil {
				open["name "+c.name]++
			}
		}
		for i = at + 1; i < len(messages) && messages[i].result(); i++ {
			key := "id " + messages[i].callID
			if messages[i].role == "function" {
				key = "name " + messages[i].name
			}
			if open[key] == 0 {
				out[i] = append(out[i], "a result without a call: "+key)
				continue
			}
			open[key]--
		}
		i--
		for key, n := range open {
			if n > 0 {
				out[at] = append(out[at], "a call without a result: "+key)
			}
		}
	}
	return out
}

// judgeIDs: the client's ids in the client's order, and no others.
func (j *judge) judgeIDs() {
	known := ids(j.was)
	for _, id := range ids(j.sent) {
		if _, ok := slices.BinarySearch(known, id); !ok {
			j.say("ids", "id %q is invented", id)
		}
	}
	for i := j.first; i < len(j.was); i++ {
		was, sent := j.was[i], j.sent[i-j.shift]
		if was.role != sent.role || was.callID != sent.callID || len(was.calls) != len(sent.calls) {
			j.say("ids", "message %d is not what it was", i)
			continue
		}
		for k := range was.calls {
			if was.calls[k].id != sent.calls[k].id || was.calls[k].name != sent.calls[k].name {
				j.say("ids", "message %d: call %d is not what it was", i, k)
			}
		}
	}
}
