package main

import (
	"bytes"
	"strings"

	"github.com/foldgate/foldgate/compression"
	"github.com/foldgate/foldgate/compression/chat"
	"github.com/foldgate/foldgate/middleware"
)

// outlineShape says what a fold made of a request, message by message. It is read
// from the two bodies alone: what it says is what is forwarded.
type outlineShape struct {
	Messages []outlineMessage `json:"messages"`
	// Handoff and Recall are the texts that were put in, with their frames; empty
	// where there is none.
	Handoff string `json:"handoff"`
	Recall  string `json:"recall"`
	// Carrier says where the handoff stands: in a message of its own ("own"), before
	// the text of the first message that follows ("first"), or in a copy of the last
	// user's message that it covers ("copy"); empty where there is no handoff.
	Carrier string `json:"carrier"`
}

// outlineMessage is one message of the request as it came.
type outlineMessage struct {
	Role string `json:"role"`
	// Fate is head, folded, kept or shrunk.
	Fate  string `json:"fate"`
	Bytes int    `json:"bytes"`
	// Position is where the message stands in what is forwarded, from 0; -1: the
	// handoff stands for it.
	Position int `json:"position"`
}

// The fates.
const (
	fateHead   = "head"
	fateFolded = "folded"
	fateKept   = "kept"
	fateShrunk = "shrunk"
)

// recallMark begins recalled passages. It is part of the bytes that are forwarded,
// which never change, and what is quoted in a handoff cannot hold it.
const recallMark = "[Passages of the earlier conversation]\n"

// outlineOf compares a request with what would be forwarded. A body that cannot be
// read was not folded, and has no outline.
func outlineOf(original []byte, r middleware.DryRunReport) outlineShape {
	o := outlineShape{Messages: []outlineMessage{}}
	before, after := parsed(original), parsed(r.Body)
	if before == nil || after == nil {
		return o
	}
	rest := r.Head + r.Covered
	added := len(after.Messages) - r.Head - (len(before.Messages) - rest) // messages that nobody sent: the handoff's own
	for i := range before.Messages {
		m := outlineMessage{Role: before.Messages[i].RoleName, Bytes: len(before.Raw(i)), Position: -1}
		switch {
		case i < r.Head:
			m.Fate, m.Position = fateHead, i
		case i < rest:
			m.Fate = fateFolded
		default:
			m.Position = i - r.Covered + added
			m.Fate = fateOf(before, i, after, m.Position)
		}
		o.Messages = append(o.Messages, m)
	}
	o.texts(after, r, added)
	return o
}

// texts finds what was put in: both stand before the text of a user's message.
func (o *outlineShape) texts(after *chat.Request, r middleware.DryRunReport, added int) {
	if r.Covered > 0 && r.Head < len(after.Messages) {
		put, own := putBefore(after.Text(r.Head))
		o.Handoff, _, _ = strings.Cut(put, recallMark)
		o.Handoff = strings.TrimRight(o.Handoff, "\n")
		switch {
		case added == 0:
			o.Carrier = "first"
		case own != "":
			o.Carrier = "copy"
		default:
			o.Carrier = "own"
		}
	}
	for i := len(after.Messages) - 1; i >= r.Head && r.Recalled > 0; i-- {
		if after.Messages[i].Role != chat.RoleUser {
			continue
		}
		if put, _ := putBefore(after.Text(i)); strings.Contains(put, recallMark) {
			o.Recall = strings.TrimRight(put[strings.Index(put, recallMark):], "\n")
		}
		return
	}
}

// putBefore divides the text of a message into what a fold put before it and what
// its sender wrote.
func putBefore(text string) (put, own string) {
	own = compression.OwnText(text)
	return strings.TrimSuffix(text, own), own
}

// fateOf is kept where a message of the rest says what it said, though a handoff
// or recalled passages may stand before it.
func fateOf(before *chat.Request, i int, after *chat.Request, position int) string {
	if position < 0 || position >= len(after.Messages) {
		return fateShrunk
	}
	if bytes.Equal(before.Raw(i), after.Raw(position)) {
		return fateKept
	}
	sender := before.Messages[i].Role == chat.RoleUser
	if sender && compression.OwnText(before.Text(i)) == compression.OwnText(after.Text(position)) {
		return fateKept
	}
	return fateShrunk
}

// parsed is nil for what is no chat request.
func parsed(body []byte) *chat.Request {
	e, err := chat.ReadEnvelope(body)
	if err != nil {
		return nil
	}
	r, err := chat.Parse(body, e)
	if err != nil {
		return nil
	}
	return r
}
