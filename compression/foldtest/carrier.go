package foldtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// gap stands between leading text and the text it leads.
const gap = "\n\n"

// judgeCarrier judges the message that the handoff leads.
func (j *judge) judgeCarrier() {
	if j.carrier < 0 {
		return
	}
	c := j.sent[j.carrier]
	if c.role != "user" {
		j.say("carrier", "the handoff stands in a message of role %s", c.role)
		return
	}
	if j.source >= 0 {
		j.judgeLed(j.was[j.source], c, j.handoff, j.source)
		return
	}
	if len(c.fields) != 2 {
		j.say("own", "the gateway's own message has %d fields", len(c.fields))
	}
	leads := texts(c.content)
	if len(leads) != 1 {
		j.say("own", "the gateway's own message has more than the handoff")
		return
	}
	if kind(c.content) != '"' && len(c.markers()) == 0 {
		j.say("own", "the gateway's own message holds no string")
	}
	j.judgeLead(leads[0], -1)
}

// judgeLed judges a message that gained leading text, at is its place in was.
func (j *judge) judgeLed(was, sent message, handoff string, at int) {
	j.sameFields(was, sent, at)
	lead, changed, err := ledBy(was.content, sent.content, handoff)
	if err != nil {
		j.say("own", "message %d: %v", at, err)
		return
	}
	if changed {
		j.changed++
	}
	for i, c := range was.calls {
		if i >= len(sent.calls) || !bytes.Equal(c.raw, sent.calls[i].raw) {
			j.say("own", "message %d: call %d changed", at, i)
		}
	}
	if at == j.source {
		j.judgeLead(lead, at)
		return
	}
	j.judgeRecall(lead, at)
}

// sameFields: all but the content is as it came, and nothing is new.
func (j *judge) sameFields(was, sent message, at int) {
	if len(was.fields) != len(sent.fields) {
		j.say("own", "message %d: %d fields, before %d", at, len(sent.fields), len(was.fields))
	}
	for key, v := range was.fields {
		if key != "content" && !bytes.Equal(v, sent.fields[key]) {
			j.say("own", "message %d: field %s changed", at, key)
		}
	}
}

// judgeLead judges the text that leads the carrier: the handoff, and what
// recall adds to it.
func (j *judge) judgeLead(lead string, at int) {
	want := clean(j.handoff)
	first, rest, ok := cutHandoff(lead, want)
	if !ok {
		j.say("handoff", "it is not the first text of its message")
		return
	}
	if !strings.HasPrefix(first, want) { // cut: it was written for a larger window
		j.changed++
		if err := shortened(want, strings.TrimSuffix(first, jsonLine)); err != nil {
			j.say("handoff", "%v", err)
		}
	}
	j.judgeRecall(rest, at)
}

// clean is a text as a JSON string holds it.
func clean(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// ledBy takes leading text off a content and compares what is left with what
// was there: changed tells that it is another, shrunk form of it.
func ledBy(was, sent json.RawMessage, handoff string) (lead string, changed bool, err error) {
	switch {
	case kind(was) == '"' && kind(sent) == '"':
		return ledString(was, sent, handoff)
	case kind(was) == '"' && kind(sent) == '[':
		all := parts(sent)
		own := object(all[len(all)-1])
		if len(own) != 2 || text(own["type"]) != "text" {
			return "", false, fmt.Errorf("what was a string is no part of type text and nothing else")
		}
		if lead, err = leadingParts(all[:len(all)-1]); err != nil {
			return "", false, err
		}
		if bytes.Equal(own["text"], was) {
			return lead, false, nil
		}
		return lead, true, shortened(text(was), text(own["text"]))
	case kind(was) == '[' && kind(sent) == '[':
		return ledParts(was, sent)
	}
	return "", false, fmt.Errorf("a content of another kind")
}

// ledString takes leading text off a string.
func ledString(was, sent json.RawMessage, handoff string) (lead string, changed bool, err error) {
	if bytes.Equal(was, sent) {
		return "", false, nil
	}
	own := was[1:]
	if before, ok := bytes.CutSuffix(sent, own); ok {
		var s string
		if json.Unmarshal(append(bytes.Clone(before), '"'), &s) == nil {
			if lead, ok := strings.CutSuffix(s, gap); ok {
				return lead, false, nil
			}
		}
	}
	lead, rest, ok := cutHandoff(text(sent), clean(handoff))
	rest, gapped := strings.CutPrefix(rest, gap)
	if !ok || !gapped {
		return "", false, fmt.Errorf("the client's own text does not follow as it came")
	}
	return lead, true, shortened(text(was), rest)
}

// cutHandoff divides what begins with a handoff, whole or cut by the exit gate.
func cutHandoff(s, handoff string) (lead, rest string, ok bool) {
	if rest, ok = strings.CutPrefix(s, handoff); !ok {
		for _, tail := range frameTails {
			if strings.HasSuffix(handoff, tail) {
				_, rest, ok = strings.Cut(s, tail)
			}
		}
	}
	if !ok {
		return "", s, false
	}
	rest = strings.TrimPrefix(rest, jsonLine)
	return s[:len(s)-len(rest)], rest, true
}

// ledParts takes leading text parts off an array.
func ledParts(was, sent json.RawMessage) (lead string, changed bool, err error) {
	had, have := parts(was), parts(sent)
	extra := len(have) - len(had)
	if extra < 0 {
		return "", false, fmt.Errorf("%d parts, before %d", len(have), len(had))
	}
	if lead, err = leadingParts(have[:extra]); err != nil {
		return "", false, err
	}
	for i := range had {
		if bytes.Equal(had[i], have[extra+i]) {
			continue
		}
		changed = true
		if err := shrunkPart(had[i], have[extra+i]); err != nil {
			return "", false, fmt.Errorf("part %d: %w", i, err)
		}
	}
	if inner := bytes.TrimSpace(was)[1:]; !changed && !bytes.HasSuffix(sent, inner) {
		return "", false, fmt.Errorf("the bytes between the parts changed")
	}
	return lead, changed, nil
}

// leadingParts is the text of parts that the gateway put first.
func leadingParts(raws []json.RawMessage) (string, error) {
	var out []string
	for _, raw := range raws {
		p := object(raw)
		if text(p["type"]) != "text" || kind(p["text"]) != '"' || len(p)-len(markersOf(p)) != 2 {
			return "", fmt.Errorf("a part before the client's own is no text")
		}
		out = append(out, text(p["text"]))
	}
	return strings.Join(out, gap), nil
}
