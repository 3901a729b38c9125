package foldtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// The note that stands in a shortened text for what is gone.
const (
	noteOpen = "\n["
	noteSays = " bytes left out here to fit the window"
	noteEnd  = "]\n"
	noteRoom = 160 // bytes that it takes at most
)

// shrunk lists what the exit gate must not have done to a message of the tail.
func shrunk(was, sent message) []string {
	var bad []string
	say := func(format string, args ...any) { bad = append(bad, fmt.Sprintf(format, args...)) }
	if len(was.fields) != len(sent.fields) {
		say("%d fields, before %d", len(sent.fields), len(was.fields))
	}
	for key, v := range was.fields {
		switch key {
		case "content", "tool_calls", "function_call":
		default:
			if !bytes.Equal(v, sent.fields[key]) {
				say("field %s changed", key)
			}
		}
	}
	if err := shrunkContent(was.content, sent.content); err != nil {
		say("%v", err)
	}
	if len(was.calls) != len(sent.calls) || (was.single == nil) != (sent.single == nil) {
		say("a call is gone or new")
		return bad
	}
	for i := range was.calls {
		if err := shrunkCall(was.calls[i], sent.calls[i]); err != nil {
			say("call %d: %v", i, err)
		}
		if was.cannotCall() && !bytes.Equal(was.calls[i].raw, sent.calls[i].raw) {
			say("call %d of a %s's message changed", i, was.role)
		}
	}
	if was.single != nil {
		if err := shrunkCall(*was.single, *sent.single); err != nil {
			say("function_call: %v", err)
		}
	}
	return bad
}

func shrunkContent(was, sent json.RawMessage) error {
	if bytes.Equal(was, sent) {
		return nil
	}
	switch {
	case kind(was) == '"' && kind(sent) == '"':
		return shortened(text(was), text(sent))
	case kind(was) == '[' && kind(sent) == '[':
		had, have := parts(was), parts(sent)
		if len(had) != len(have) {
			return fmt.Errorf("%d parts, before %d", len(have), len(had))
		}
		for i := range had {
			if err := shrunkPart(had[i], have[i]); err != nil {
				return fmt.Errorf("part %d: %w", i, err)
			}
		}
		return nil
	}
	return fmt.Errorf("a content that cannot be shrunk changed")
}

// shrunkPart judges one part: a shorter text, or a note for what is no text.
func shrunkPart(was, sent json.RawMessage) error {
	if bytes.Equal(was, sent) {
		return nil
	}
	had, have := object(was), object(sent)
	if had == nil || have == nil {
		return fmt.Errorf("it is no object, or was none")
	}
	if t := text(had["type"]); t == "thinking" || t == "redacted_thinking" || t == "reasoning" {
		return fmt.Errorf("a part of type %s changed", t)
	}
	if kind(had["text"]) == '"' || kind(had["refusal"]) == '"' {
		if len(had) != len(have) {
			return fmt.Errorf("%d fields, before %d", len(have), len(had))
		}
		for key, v := range had {
			if key == "text" || key == "refusal" && kind(had["text"]) != '"' {
				if err := shortened(text(v), text(have[key])); err != nil {
					return err
				}
				continue
			}
			if !bytes.Equal(v, have[key]) {
				return fmt.Errorf("field %s changed", key)
			}
		}
		return nil
	}
	if text(have["type"]) != "text" || kind(have["text"]) != '"' || len(have)-len(markersOf(have)) != 2 {
		return fmt.Errorf("what stands for it is no text")
	}
	if a, b := markersOf(had), markersOf(have); len(a) > 0 && (len(b) == 0 || a[len(a)-1] != b[len(b)-1]) {
		return fmt.Errorf("its cache marker is gone")
	}
	return nil
}

// shortened judges a text that was cut: a beginning and an end of what it was,
// with a note between them that says how much is gone.
func shortened(was, sent string) error {
	if was == sent {
		return nil
	}
	if len(sent) >= len(was) {
		return fmt.Errorf("a text changed and is no shorter: %d bytes, before %d", len(sent), len(was))
	}
	for at := 0; ; at++ {
		i := strings.Index(sent[at:], noteSays)
		if i < 0 {
			return fmt.Errorf("a text changed and is not two ends of what it was: %.60q", sent)
		}
		at += i
		open, end := strings.LastIndex(sent[:at], noteOpen), strings.Index(sent[at:], noteEnd)
		if open < 0 || end < 0 || at+end-open > noteRoom {
			continue
		}
		if strings.HasPrefix(was, sent[:open]) && strings.HasSuffix(was, sent[at+end+len(noteEnd):]) {
			return nil
		}
	}
}

func shrunkCall(was, sent call) error {
	if bytes.Equal(was.raw, sent.raw) {
		return nil
	}
	if len(was.fields) != len(sent.fields) || len(was.body) != len(sent.body) {
		return fmt.Errorf("a field is gone or new")
	}
	for key, v := range was.fields {
		if key != "function" && key != "custom" && !bytes.Equal(v, sent.fields[key]) {
			return fmt.Errorf("field %s changed", key)
		}
	}
	for key, v := range was.body {
		if key != "arguments" && key != "input" && !bytes.Equal(v, sent.body[key]) {
			return fmt.Errorf("field %s of its function changed", key)
		}
	}
	if was.args == nil || sent.args == nil {
		return fmt.Errorf("it changed and has no arguments")
	}
	return shrunkArguments(*was.args, *sent.args)
}

// shrunkArguments: JSON stays JSON of the same shape, with the same keys and
// numbers and shorter strings; all else stays.
func shrunkArguments(was, sent string) error {
	if was == sent {
		return nil
	}
	if !json.Valid([]byte(was)) {
		return fmt.Errorf("arguments that are no JSON changed")
	}
	if !json.Valid([]byte(sent)) {
		return fmt.Errorf("arguments are no JSON any more")
	}
	if len(sent) >= len(was) {
		return fmt.Errorf("arguments changed and are no shorter")
	}
	a, b := tokens(was), tokens(sent)
	var in []bool // whether each open container is an object
	name := false // whether a string here is a key
	for {
		x, errA := a.Token()
		y, errB := b.Token()
		if errA != nil || errB != nil {
			if (errA == nil) != (errB == nil) {
				return fmt.Errorf("a part of the arguments is gone or new")
			}
			return nil
		}
		before, isA := x.(string)
		after, isB := y.(string)
		switch {
		case isA && isB && !name:
			if err := shortened(before, after); err != nil {
				return fmt.Errorf("a value of the arguments: %w", err)
			}
		case x != y:
			return fmt.Errorf("a key, number or bracket of the arguments changed: %v to %v", x, y)
		}
		switch x {
		case json.Delim('{'), json.Delim('['):
			in = append(in, x == json.Delim('{'))
			name = x == json.Delim('{')
			continue
		case json.Delim('}'), json.Delim(']'):
			in = in[:len(in)-1]
			name = false
		}
		name = len(in) > 0 && in[len(in)-1] && !name
	}
}

func tokens(s string) *json.Decoder {
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	return d
}
