package chat

import "fmt"

// Parse finds the spans inside the messages of a body and its envelope, as
// ReadEnvelope gave it: for the same bytes in the same place, unchanged since,
// what ReadEnvelope knows of their strings is used. The Request keeps body. Errors: ErrNotChat where a
// message is no object or has no string for a role, or there are more than
// MaxElements; ErrDuplicateKey where a key that decides what a message, a part
// or a call is stands twice in it; ErrSyntax only for an envelope of another
// body.
func Parse(body []byte, e Envelope) (*Request, error) {
	if e.Messages.Start < 0 || e.Messages.End > len(body) || e.Messages.Len() < 2 || body[e.Messages.Start] != '[' {
		return nil, fmt.Errorf("parsing the messages: no array: %w", ErrNotChat)
	}
	p := parser{scanner: scanner{b: body[:e.Messages.End], i: e.Messages.Start, depth: 1, leaps: leaps{known: e.reading.of(body).strings}}}
	const usual = 1 << 10 // bytes of a message: a first guess, so that most slices grow once or twice
	messages := make([]Message, 0, min(e.Messages.Len()/usual+1, usual))
	for p.enter(); p.nextElement(); {
		messages = append(messages, Message{})
		p.message(&messages[len(messages)-1])
		if p.err != nil {
			return nil, fmt.Errorf("parsing message %d: %w", len(messages)-1, p.err)
		}
	}
	if !p.end() {
		return nil, p.syntaxError()
	}
	r := &Request{Envelope: e, Body: body, Messages: messages}
	for r.Head < len(messages) && messages[r.Head].Role.Leading() {
		r.Head++
	}
	return r, nil
}

// Known is how many messages of body the reading of its envelope has found, and
// the names of body's blocks, as far as a Seen has named them: 0 and none for an
// envelope of another body.
func (e *Envelope) Known(body []byte) (messages int, blocks []BlockName) {
	r := e.reading.of(body)
	return len(r.messages), r.blocks
}

// Found is the span of message i of those that are Known.
func (e *Envelope) Found(i int) Span {
	m := e.reading.messages[i]
	return Span{int(m.start), int(m.end)}
}

// ParseSome is Parse of the messages from number from to before number to, of
// those that are Known; both are bounded to what there is. The errors are Parse's,
// but that MaxElements bounds these messages alone.
func ParseSome(body []byte, e Envelope, from, to int) ([]Message, error) {
	r := e.reading.of(body)
	from, to = max(from, 0), min(to, len(r.messages))
	if from >= to {
		return nil, nil
	}
	p := parser{scanner: scanner{b: body[:e.Messages.End], depth: 2, leaps: leaps{known: r.strings}}}
	messages := make([]Message, to-from)
	for i := range messages {
		p.i = int(r.messages[from+i].start)
		p.message(&messages[i])
		if p.err != nil {
			return nil, fmt.Errorf("parsing message %d: %w", from+i, p.err)
		}
		if p.bad {
			return nil, p.syntaxError()
		}
	}
	return messages, nil
}

// parser is a scanner that stops at the first message it cannot make sense of.
type parser struct {
	scanner
	elements int
	hasRole  bool // of the message at hand
	err      error
}

func (p *parser) stop(err error) {
	if p.err == nil {
		p.err = err
	}
	p.fail()
}

// element counts one more message, part or call.
func (p *parser) element() {
	if p.elements++; p.elements > MaxElements {
		p.stop(fmt.Errorf("more than %d messages, parts and calls: %w", MaxElements, ErrNotChat))
	}
}

// keys is a set of the deciding keys that were seen in one object.
type keys uint32

const (
	keyRole keys = 1 << iota
	keyContent
	keyName
	keyToolCalls
	keyToolCallID
	keyFunctionCall
	keyRefusal
	keyAudio
	keyType
	keyText
	keyImageURL
	keyInputAudio
	keyFile
	keyURL
	keyDetail
	keyID
	keyFunction
	keyCustom
	keyArguments
	keyInput
	keyMarker
	keyBreakpoint
)

const (
	markerCache      = "cache_control"
	markerBreakpoint = "prompt_cache_breakpoint"
)

// key is the deciding key whose name was read last, 0 if it is none. One table
// serves all objects: a name decides in each of them or is not expected there.
func (p *parser) key() keys {
	switch string(p.name()) {
	case "role":
		return keyRole
	case "content":
		return keyContent
	case "name":
		return keyName
	case "tool_calls":
		return keyToolCalls
	case "tool_call_id":
		return keyToolCallID
	case "function_call":
		return keyFunctionCall
	case "refusal":
		return keyRefusal
	case "audio":
		return keyAudio
	case "type":
		return keyType
	case "text":
		return keyText
	case "image_url":
		return keyImageURL
	case "input_audio":
		return keyInputAudio
	case "file":
		return keyFile
	case "url":
		return keyURL
	case "detail":
		return keyDetail
	case "id":
		return keyID
	case "function":
		return keyFunction
	case "custom":
		return keyCustom
	case "arguments":
		return keyArguments
	case "input":
		return keyInput
	case markerCache:
		return keyMarker
	case markerBreakpoint:
		return keyBreakpoint
	}
	return 0
}

// nextField moves to the next member and is its key. It stops where a deciding
// key stands twice; the markers decide nothing, and the last one counts.
func (p *parser) nextField(seen *keys) (keys, bool) {
	if !p.nextKey() {
		return 0, false
	}
	k := p.key()
	if *seen&k&^(keyMarker|keyBreakpoint) != 0 {
		p.stop(fmt.Errorf("%s: %w", p.name(), ErrDuplicateKey))
		return 0, false
	}
	*seen |= k
	return k, true
}

// message reads one element of messages.
func (p *parser) message(m *Message) {
	p.element()
	start := p.i
	if p.peek() != '{' {
		p.stop(fmt.Errorf("no object: %w", ErrNotChat))
		return
	}
	p.hasRole = false
	var seen keys
	p.enter()
	for k, ok := p.nextField(&seen); ok; k, ok = p.nextField(&seen) {
		p.messageField(m, k)
	}
	if p.bad {
		return
	}
	if !p.hasRole {
		p.stop(fmt.Errorf("no role: %w", ErrNotChat))
		return
	}
	m.Span = Span{start, p.i}
}
