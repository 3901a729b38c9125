package sse

import "bytes"

// part says where in a line the parser stands.
type part uint8

const (
	inField part = iota // before the colon
	inSpace             // just after the colon: one space may follow
	inValue
)

// field says what the value of the line is for.
type field uint8

const (
	ignored field = iota
	dataField
	eventField
	comment
)

// fieldLen is the most that has to be kept of a field's name: the byte order
// mark and "event", and one byte more to tell longer names apart.
const fieldLen = len(mark) + len("event") + 1

// mark is the byte order mark that may open a stream.
const mark = "\xef\xbb\xbf"

// Parser turns the bytes of an event stream, in whatever chunks they come, into
// events. It is for one stream and one goroutine at a time. Use NewParser.
type Parser struct {
	max int

	// The event.
	name    []byte
	data    texts
	hasData bool
	skip    bool // it was reported as oversized: drop the rest of it

	// The line.
	at      part
	field   field
	key     [fieldLen]byte
	keyLen  int
	note    texts // text of a comment
	noteBig bool
	started bool // the first line is over: no byte order mark any more
	afterCR bool // an LF that follows belongs to the line end before

	lastName string // so that a name which repeats is not allocated again
}

// NewParser makes a parser that keeps at most max bytes of one event, name and
// data together, and of one comment; max <= 0 means DefaultMax.
func NewParser(max int) *Parser {
	if max <= 0 {
		max = DefaultMax
	}
	return &Parser{max: max}
}

// Write reads the next chunk and calls emit for every event and comment that it
// completes. It does not keep b. emit must not call the parser.
func (p *Parser) Write(b []byte, emit func(Event)) {
	p.data.recycle()
	p.note.recycle()
	lf := -1 // the next line feed, so that a chunk of CRs is not searched again and again
	for len(b) > 0 {
		if p.afterCR {
			p.afterCR = false
			if b[0] == '\n' {
				b, lf = b[1:], lf-1
				continue
			}
		}
		if lf < 0 {
			if lf = bytes.IndexByte(b, '\n'); lf < 0 {
				lf = len(b)
			}
		}
		end := lf
		if cr := bytes.IndexByte(b[:lf], '\r'); cr >= 0 {
			end = cr
		}
		p.segment(b[:end], emit)
		if end == len(b) {
			return
		}
		p.afterCR = b[end] == '\r'
		p.endLine(emit)
		b, lf = b[end+1:], lf-end-1
	}
}

// Close reads the end of the stream: a last line without its line end counts,
// and a last event without its blank line is reported if it has data. The
// parser is then ready for another stream.
func (p *Parser) Close(emit func(Event)) {
	p.data.recycle()
	p.note.recycle()
	if p.keyLen > 0 || p.at != inField {
		p.endLine(emit)
	}
	p.dispatch(emit)
	p.started, p.afterCR = false, false
}

// segment takes a piece of a line, without its end.
func (p *Parser) segment(s []byte, emit func(Event)) {
	if p.at == inField && len(s) > 0 {
		colon := bytes.IndexByte(s, ':')
		if colon < 0 {
			p.addKey(s)
			return
		}
		p.addKey(s[:colon])
		p.openValue(emit)
		p.at = inSpace
		s = s[colon+1:]
	}
	if p.at == inSpace && len(s) > 0 {
		p.at = inValue
		if s[0] == ' ' {
			s = s[1:]
		}
	}
	if len(s) > 0 {
		p.addValue(s, emit)
	}
}

// addKey keeps as much of the field's name as is needed to know it.
func (p *Parser) addKey(s []byte) {
	p.keyLen += copy(p.key[p.keyLen:], s)
}

// openValue decides by the field's name what the value is for, and begins it.
func (p *Parser) openValue(emit func(Event)) {
	switch key := p.keyName(); {
	case string(key) == "data":
		p.field = dataField
		if p.hasData {
			p.addValue([]byte{'\n'}, emit)
		}
		p.hasData = true
	case string(key) == "event":
		p.field = eventField
		p.name = p.name[:0]
	case len(key) == 0:
		p.field = comment
	default:
		p.field = ignored
	}
}

// keyName is the field's name without the mark that may open the stream.
func (p *Parser) keyName() []byte {
	key := p.key[:p.keyLen]
	if !p.started {
		key = bytes.TrimPrefix(key, []byte(mark))
	}
	return key
}

// addValue adds a piece of the value, within the limit.
func (p *Parser) addValue(s []byte, emit func(Event)) {
	switch {
	case p.field == comment:
		if p.noteBig = p.noteBig || p.note.len()+len(s) > p.max; p.noteBig {
			p.note.drop()
			return
		}
		p.note.add(s)
	case p.field == ignored || p.skip:
	case len(p.name)+p.data.len()+len(s) > p.max:
		p.tooLarge(emit)
	case p.field == eventField:
		p.name = append(p.name, s...)
	default:
		p.data.add(s)
	}
}

// tooLarge reports the event that outgrew the limit and drops what is left of it.
func (p *Parser) tooLarge(emit func(Event)) {
	name := ""
	if p.field != eventField { // half a name names nothing
		name = p.eventName()
	}
	p.skip = true
	p.name = p.name[:0]
	p.data.drop()
	emit(Event{Name: name, Oversized: true})
}

// endLine acts on the line that is complete now.
func (p *Parser) endLine(emit func(Event)) {
	if p.at == inField {
		if len(p.keyName()) == 0 {
			p.dispatch(emit)
			p.newLine()
			return
		}
		p.openValue(emit) // a field without a colon has an empty value
	}
	if p.field == comment {
		p.emitComment(emit)
	}
	p.newLine()
}

func (p *Parser) newLine() {
	p.at, p.field, p.keyLen, p.started = inField, ignored, 0, true
}

func (p *Parser) emitComment(emit func(Event)) {
	e := Event{Comment: true, Oversized: p.noteBig}
	if text := p.note.take(); !p.noteBig {
		e.Data = text
	}
	p.noteBig = false
	emit(e)
}

// dispatch ends the event. One without data, and one that was reported already,
// leaves nothing.
func (p *Parser) dispatch(emit func(Event)) {
	report := p.hasData && !p.skip
	e := Event{Data: p.data.take()}
	if report {
		e.Name = p.eventName()
	}
	p.name, p.hasData, p.skip = p.name[:0], false, false
	if report {
		emit(e)
	}
}

func (p *Parser) eventName() string {
	if string(p.name) != p.lastName {
		p.lastName = string(p.name)
	}
	return p.lastName
}
