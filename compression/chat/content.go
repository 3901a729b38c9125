package chat

import "strings"

// messageField consumes the value of one member of a message.
func (p *parser) messageField(m *Message, k keys) {
	switch k {
	case keyRole:
		v, ok := p.text()
		p.hasRole = ok
		m.RoleName, m.Role = p.role(v, ok)
	case keyName:
		p.messageString(m, &m.Name)
	case keyToolCallID:
		p.messageString(m, &m.ToolCallID)
	case keyContent:
		p.content(m)
	case keyRefusal:
		if v, ok := p.text(); ok {
			m.Refusal = v
		} else {
			m.odd = m.odd || !p.isNull(v)
		}
	case keyAudio:
		if v := p.value(); !p.isNull(v) {
			m.Audio = v
		}
	case keyToolCalls:
		p.toolCalls(m)
	case keyFunctionCall:
		p.functionCall(m)
	case keyMarker:
		p.marker(markerCache, &m.Marker, &m.MarkerKey)
	case keyBreakpoint:
		p.marker(markerBreakpoint, &m.Marker, &m.MarkerKey)
	default:
		p.skip()
	}
}

// messageString reads a member that is a string, null or odd.
func (p *parser) messageString(m *Message, into *string) {
	v, ok := p.text()
	if ok {
		*into = decodeExact(p.b, v)
		return
	}
	m.odd = m.odd || !p.isNull(v)
}

// isNull reports whether a value is null; a value cut short by an error is too.
func (p *parser) isNull(v Span) bool { return p.bad || p.b[v.Start] == 'n' }

// role is a role's name and kind. The usual names are not allocated.
func (p *parser) role(v Span, ok bool) (string, Role) {
	if !ok {
		return "", RoleOther
	}
	switch string(p.name()) {
	case "system":
		return "system", RoleSystem
	case "developer":
		return "developer", RoleDeveloper
	case "user":
		return "user", RoleUser
	case "assistant":
		return "assistant", RoleAssistant
	case "tool":
		return "tool", RoleTool
	case "function":
		return "function", RoleFunction
	}
	return decodeExact(p.b, v), RoleOther
}

// marker reads a cache marker; null is none.
func (p *parser) marker(key string, span *Span, under *string) {
	if v := p.value(); !p.isNull(v) {
		*span, *under = v, key
	}
}

func (p *parser) content(m *Message) {
	start := p.i
	switch p.peek() {
	case '"':
		m.ContentKind = ContentString
	case 'n':
		m.ContentKind = ContentNull
	case '[':
		m.ContentKind = ContentArray
		for p.enter(); p.nextElement(); {
			m.Parts = append(m.Parts, Part{})
			p.part(&m.Parts[len(m.Parts)-1])
		}
		m.Content = Span{start, p.i}
		return
	default:
		m.ContentKind = ContentOther
		m.odd = true
	}
	m.Content = p.value()
}

// part reads one element of a content array, of any kind.
func (p *parser) part(t *Part) {
	p.element()
	start := p.i
	if p.peek() != '{' {
		t.Span = p.value()
		return
	}
	var seen keys
	var refusal Span
	p.enter()
	for k, ok := p.nextField(&seen); ok; k, ok = p.nextField(&seen) {
		switch k {
		case keyType:
			t.Type = p.partType()
		case keyText:
			t.Text, _ = p.textOnly()
		case keyRefusal:
			refusal, _ = p.textOnly()
		case keyImageURL:
			p.imageURL(t)
		case keyMarker:
			p.marker(markerCache, &t.Marker, &t.MarkerKey)
		case keyBreakpoint:
			p.marker(markerBreakpoint, &t.Marker, &t.MarkerKey)
		default:
			p.skip()
		}
	}
	if t.Text.Empty() {
		t.Text = refusal
	}
	t.Span = Span{start, p.i}
}

// textOnly is text, the zero span where the value is no string.
func (p *parser) textOnly() (Span, bool) {
	v, ok := p.text()
	if !ok {
		return Span{}, false
	}
	return v, true
}

// partType reads a part's type. The usual names are not allocated.
func (p *parser) partType() string {
	v, ok := p.text()
	if !ok {
		return ""
	}
	switch string(p.name()) {
	case typeText:
		return typeText
	case typeRefusal:
		return typeRefusal
	case "image_url":
		return "image_url"
	}
	return decodeExact(p.b, v)
}

const (
	typeText    = "text"
	typeRefusal = "refusal"
)

// imageURL reads {"url", "detail"} or the URL alone.
func (p *parser) imageURL(t *Part) {
	if p.peek() != '{' {
		t.URL, _ = p.textOnly()
		return
	}
	var seen keys
	p.enter()
	for k, ok := p.nextField(&seen); ok; k, ok = p.nextField(&seen) {
		switch k {
		case keyURL:
			t.URL, _ = p.textOnly()
		case keyDetail:
			t.Detail = p.shortString()
		default:
			p.skip()
		}
	}
}

// shortString is the value of a string, "" where the value is none.
func (p *parser) shortString() string {
	v, ok := p.text()
	if !ok {
		return ""
	}
	return decodeExact(p.b, v)
}

// isReasoning reports whether the part echoes what a model thought. Clients
// leave such parts out at will, so they say nothing about the conversation.
func (t *Part) isReasoning() bool {
	switch t.Type {
	case "thinking", "redacted_thinking", "reasoning":
		return true
	}
	return false
}

// Raw is the bytes of message i as they stand in the body.
func (r *Request) Raw(i int) []byte { return r.Messages[i].Span.Of(r.Body) }

// Text is what message i says: its string content, or the texts and refusals of
// its parts, without echoed reasoning, joined by line feeds; "" where there is
// none. It is valid UTF-8: what is no text becomes U+FFFD.
func (r *Request) Text(i int) string {
	m := &r.Messages[i]
	if m.ContentKind == ContentString {
		return r.Decode(m.Content)
	}
	var texts []string
	for j := range m.Parts {
		if t := &m.Parts[j]; !t.Text.Empty() && !t.isReasoning() {
			texts = append(texts, r.Decode(t.Text))
		}
	}
	return strings.Join(texts, "\n")
}
