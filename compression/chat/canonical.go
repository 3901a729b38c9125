package chat

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
)

// Digest names a message, or a run of messages, by what it says to a model.
type Digest [32]byte

// MessageDigest is the digest of a message's canonical form.
func MessageDigest(canonical []byte) Digest { return sha256.Sum256(canonical) }

// Extend is the digest of the run that chain names with one message more. The
// zero Digest is the empty run.
func Extend(chain, message Digest) Digest {
	var both [2 * sha256.Size]byte
	copy(both[:], chain[:])
	copy(both[sha256.Size:], message[:])
	return sha256.Sum256(both[:])
}

// Tags of the fields of a canonical form. They are part of the format.
const (
	tagRole       = 'r'
	tagName       = 'n'
	tagText       = 't'
	tagSaid       = 'f' // a refusal part
	tagPart       = 'p' // a part that is no text: a value follows
	tagRefusal    = 'R'
	tagAudio      = 'A' // a value follows
	tagCallID     = 'c'
	tagCallName   = 'm'
	tagArguments  = 'a'
	tagInput      = 'u'
	tagDeprecated = 'd' // instead of a call's id
	tagOddCall    = 'x' // a value follows
	tagResultOf   = 'i'
	tagOdd        = '?' // the whole message follows as a value

	tagString  = 's'
	tagLiteral = '#' // a number, true, false or null, as it is spelled
	tagBytes   = '=' // a value too deep or wide for a tree, as it stands
	tagObject  = '{'
	tagMember  = ':'
	tagArray   = '['
	tagElement = ','
	tagEnd     = '.'
)

// tagLen is what stands before the bytes of a field: its tag and their number.
const tagLen = 1 + 8

// Canonical appends the canonical form of message i: equal for two messages
// exactly if they say the same to a model. Cache markers, echoed reasoning,
// unknown fields, key order, white space and the spelling of escapes do not
// count. The package comment gives the format.
func (r *Request) Canonical(dst []byte, i int) []byte {
	m := &r.Messages[i]
	dst = slices.Grow(dst, m.Span.Len()+32)
	c := canon{body: r.Body, dst: dst}
	c.message(m)
	return c.dst
}

// canon writes one canonical form.
type canon struct {
	body []byte
	dst  []byte
	tree
}

func (c *canon) message(m *Message) {
	c.field(tagRole, m.RoleName)
	if m.odd {
		c.dst = append(c.dst, tagOdd)
		c.value(m.Span, isEcho)
		return
	}
	if m.Name != "" {
		c.field(tagName, m.Name)
	}
	c.content(m)
	if !m.Refusal.Empty() {
		c.text(tagRefusal, m.Refusal)
	}
	if !m.Audio.Empty() {
		c.dst = append(c.dst, tagAudio)
		c.value(m.Audio, nil)
	}
	for i := range m.Calls {
		c.call(&m.Calls[i])
	}
	if m.ToolCallID != "" {
		c.field(tagResultOf, m.ToolCallID)
	}
}

// content writes the parts. A single empty text is no content.
func (c *canon) content(m *Message) {
	const emptyText = 2 // a span of two quotes
	if m.ContentKind == ContentString {
		if m.Content.Len() > emptyText {
			c.text(tagText, m.Content)
		}
		return
	}
	before := len(c.dst)
	parts, empty := 0, false
	for i := range m.Parts {
		t := &m.Parts[i]
		if t.isReasoning() {
			continue
		}
		parts++
		empty = c.part(t)
	}
	if parts == 1 && empty {
		c.dst = c.dst[:before]
	}
}

// part writes one part and reports whether it is an empty text.
func (c *canon) part(t *Part) bool {
	switch {
	case t.Text.Empty():
	case t.Type == typeText:
		c.text(tagText, t.Text)
		return t.Text.Len() == 2
	case t.Type == typeRefusal:
		c.text(tagSaid, t.Text)
		return false
	}
	c.dst = append(c.dst, tagPart)
	c.value(t.Span, nil)
	return false
}

func (c *canon) call(l *Call) {
	if l.Arguments.Empty() {
		c.dst = append(c.dst, tagOddCall)
		c.value(l.Span, isCallNoise)
		return
	}
	if l.deprecated() {
		c.dst = append(c.dst, tagDeprecated)
	} else {
		c.field(tagCallID, l.ID)
	}
	c.field(tagCallName, l.Name)
	if l.Type == callCustom {
		c.text(tagInput, l.Arguments)
		return
	}
	c.text(tagArguments, l.Arguments)
}

// field writes a tag, the length and the bytes.
func (c *canon) field(tag byte, s string) { c.dst = appendField(c.dst, tag, s) }

// raw writes a value of the body as a field, as it stands.
func (c *canon) raw(tag byte, s Span) { c.dst = appendField(c.dst, tag, s.Of(c.body)) }

func appendField[T string | []byte](dst []byte, tag byte, s T) []byte {
	dst = append(dst, tag)
	dst = binary.BigEndian.AppendUint64(dst, uint64(len(s)))
	return append(dst, s...)
}

// text writes a string of the body as a field, decoded.
func (c *canon) text(tag byte, s Span) {
	raw, _ := inner(c.body, s)
	c.decoded(tag, raw)
}

// decoded writes the inside of a string of the body as a field, decoded.
func (c *canon) decoded(tag byte, raw []byte) {
	c.dst = append(c.dst, tag, 0, 0, 0, 0, 0, 0, 0, 0)
	at := len(c.dst)
	c.dst = appendDecoded(c.dst, raw)
	binary.BigEndian.PutUint64(c.dst[at-tagLen+1:], uint64(len(c.dst)-at))
}
