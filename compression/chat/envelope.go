package chat

import (
	"fmt"
	"math"
	"strconv"
)

// ReadEnvelope reads the top level of a request in one pass over the whole body.
// It checks the syntax of everything and looks into nothing that it has no field
// for. Errors, by weight: ErrSyntax; ErrDuplicateKey where one of messages,
// model, stream, max_tokens, max_completion_tokens, tools, functions and
// response_format stands twice; ErrNotChat where messages is no array.
func ReadEnvelope(body []byte) (Envelope, error) { return readEnvelope(body, block{}) }

// readEnvelope reads a body of which the strings and messages in known were read
// before. The envelope keeps those of the whole body for Parse.
func readEnvelope(body []byte, known block) (Envelope, error) {
	keep := uint64(len(body)) <= math.MaxUint32
	s := scanner{b: body, leaps: leaps{known: known.strings, keep: keep}, strides: strides{known: known.messages, keep: keep}}
	s.space()
	if s.peek() != '{' {
		s.skip()
		if !s.end() {
			return Envelope{}, s.syntaxError()
		}
		return Envelope{}, fmt.Errorf("reading the envelope: no object: %w", ErrNotChat)
	}
	var f envelopeFields
	for s.enter(); s.nextKey(); {
		f.read(&s)
	}
	if !s.end() {
		return Envelope{}, s.syntaxError()
	}
	if f.doubled != "" {
		return Envelope{}, fmt.Errorf("reading the envelope: %s: %w", f.doubled, ErrDuplicateKey)
	}
	if f.messages.Empty() || body[f.messages.Start] != '[' {
		return Envelope{}, fmt.Errorf("reading the envelope: no messages array: %w", ErrNotChat)
	}
	e := f.envelope(body)
	e.reading = reading{
		first: &body[0], size: len(body),
		strings: append(known.strings, s.leaps.found...), messages: append(s.strides.known, s.strides.found...), many: s.strides.many,
	}
	e.Opaque = s.seen&sawOpaque != 0
	if e.Native == "" && s.seen&sawCompaction != 0 {
		e.Native = "compaction"
	}
	return e, nil
}

func (s *scanner) syntaxError() error {
	if s.depth > MaxDepth {
		return fmt.Errorf("reading JSON at byte %d: nested deeper than %d: %w", s.i, MaxDepth, ErrSyntax)
	}
	return fmt.Errorf("reading JSON at byte %d: %w", s.i, ErrSyntax)
}

// envelopeFields holds the spans of the values that matter, the zero span where
// there is none.
type envelopeFields struct {
	messages, model, stream, maxTokens, maxCompletion Span
	tools, functions, responseFormat                  Span

	native   string
	doubled  string
	toolsOff bool
}

// read consumes the value of the key read last.
func (f *envelopeFields) read(s *scanner) {
	name := string(s.name())
	into := f.field(name)
	s.watch = watchOf(name)
	s.lookAtTop(name)
	start := s.i
	if name == "messages" {
		s.messages()
	} else {
		s.skip()
	}
	v := Span{start, s.i}
	if into != nil {
		if !into.Empty() && f.doubled == "" {
			f.doubled = name
		}
		*into = v
		return
	}
	if s.bad {
		return
	}
	if name == "tool_choice" {
		f.toolsOff = stringIs(v.Of(s.b), "none")
	}
	if f.native == "" && asksNative(name, v.Of(s.b)) {
		f.native = name
	}
}

// field is where the span of a field is kept that must not stand twice.
func (f *envelopeFields) field(name string) *Span {
	switch name {
	case "messages":
		return &f.messages
	case "model":
		return &f.model
	case "stream":
		return &f.stream
	case "max_tokens":
		return &f.maxTokens
	case "max_completion_tokens":
		return &f.maxCompletion
	case "tools":
		return &f.tools
	case "functions":
		return &f.functions
	case "response_format":
		return &f.responseFormat
	}
	return nil
}

func (f *envelopeFields) envelope(body []byte) Envelope {
	e := Envelope{
		Model:               decodeText(body, f.model),
		Stream:              string(f.stream.Of(body)) == "true",
		MaxTokens:           count(f.maxTokens.Of(body)),
		MaxCompletionTokens: count(f.maxCompletion.Of(body)),
		Messages:            f.messages,
		Tools:               f.tools,
		ResponseFormat:      f.responseFormat,
		JSONObject:          asksJSONObject(f.responseFormat.Of(body)),
		Native:              f.native,
		ToolsOff:            f.toolsOff,
	}
	if e.Tools.Empty() {
		e.Tools = f.functions
	}
	return e
}

// count is the value of a JSON number that counts something, 0 if it is none.
func count(raw []byte) int {
	const longest = 64 // a spelling longer than this is no honest count
	if len(raw) == 0 || len(raw) > longest {
		return 0
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || f != math.Trunc(f) || f < 0 || f > math.MaxInt32 {
		return 0
	}
	return int(f)
}

func asksJSONObject(raw []byte) bool {
	asks := false
	eachMember(raw, func(name string, value []byte) {
		if name == "type" {
			asks = asks || stringIs(value, "json_object")
		}
	})
	return asks
}
