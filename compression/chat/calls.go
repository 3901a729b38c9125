package chat

// toolCalls reads tool_calls: an array of calls or null. Anything else is odd.
func (p *parser) toolCalls(m *Message) {
	if p.peek() != '[' {
		v := p.value()
		m.odd = m.odd || !p.isNull(v)
		return
	}
	for p.enter(); p.nextElement(); {
		m.Calls = append(m.Calls, Call{})
		p.toolCall(&m.Calls[len(m.Calls)-1])
	}
}

// functionCall reads the deprecated function_call of a message: the body of a
// call, without an id. It is no part of tool_calls, so an odd one makes the
// message odd.
func (p *parser) functionCall(m *Message) {
	start := p.i
	if p.peek() != '{' {
		v := p.value()
		m.odd = m.odd || !p.isNull(v)
		return
	}
	p.element()
	var c Call
	if !p.callBody(&c, keyArguments) {
		m.odd = true
	}
	c.Span = Span{start, p.i}
	m.Calls = append(m.Calls, c)
}

// toolCall reads one element of tool_calls. Where it is not {"id", "function":
// {"name", "arguments"}} or {"id", "custom": {"name", "input"}}, its arguments
// are left absent.
func (p *parser) toolCall(c *Call) {
	p.element()
	c.Type = callFunction
	start := p.i
	if p.peek() != '{' {
		c.Span = p.value()
		return
	}
	var seen keys
	given, whole := "", true
	p.enter()
	for k, ok := p.nextField(&seen); ok; k, ok = p.nextField(&seen) {
		switch k {
		case keyID:
			whole = p.callString(&c.ID) && whole
		case keyType:
			given = p.callType()
		case keyFunction:
			whole = p.callBody(c, keyArguments) && whole
		case keyCustom:
			c.Type = callCustom
			whole = p.callBody(c, keyInput) && whole
		default:
			p.skip()
		}
	}
	const both = keyFunction | keyCustom
	if seen&both == both || given == callCustom && seen&keyCustom == 0 || given == callFunction && seen&keyFunction == 0 {
		whole = false
	}
	if given != "" {
		c.Type = given
	}
	if !whole {
		c.Arguments = Span{}
	}
	c.Span = Span{start, p.i}
}

const (
	callFunction = "function"
	callCustom   = "custom"
)

// callString reads a member of a call that is a string or null.
func (p *parser) callString(into *string) bool {
	v, ok := p.text()
	if !ok {
		return p.isNull(v)
	}
	*into = decodeExact(p.b, v)
	return true
}

// callType reads a call's type. The usual names are not allocated.
func (p *parser) callType() string {
	v, ok := p.text()
	if !ok {
		return ""
	}
	switch string(p.name()) {
	case callFunction:
		return callFunction
	case callCustom:
		return callCustom
	}
	return decodeExact(p.b, v)
}

// callBody reads {"name", "arguments"} or {"name", "input"} and reports whether
// both are strings.
func (p *parser) callBody(c *Call, arguments keys) bool {
	if p.peek() != '{' {
		p.skip()
		return false
	}
	var seen keys
	whole := true
	p.enter()
	for k, ok := p.nextField(&seen); ok; k, ok = p.nextField(&seen) {
		switch k {
		case keyName:
			whole = p.callString(&c.Name) && whole
		case arguments:
			v, ok := p.textOnly()
			c.Arguments = v
			whole = whole && ok
		default:
			p.skip()
		}
	}
	return whole && !c.Arguments.Empty()
}
