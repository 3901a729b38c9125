package chat_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/foldgate/foldgate/compression/chat"
)

// The reference is jsontext, made as lenient as this package: it reads the same
// bodies and finds the same messages.

func lenient() []jsontext.Options {
	return []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}
}

// accepted reports whether the reference takes body for one JSON value that is
// no deeper than allowed.
func accepted(body []byte) bool {
	d := jsontext.NewDecoder(bytes.NewReader(body), lenient()...)
	for {
		_, err := d.ReadToken()
		if errors.Is(err, io.EOF) {
			return d.InputOffset() > 0 && d.StackDepth() == 0
		}
		if err != nil || d.StackDepth() > chat.MaxDepth {
			return false
		}
		if d.StackDepth() == 0 {
			_, err := d.ReadToken()
			return errors.Is(err, io.EOF)
		}
	}
}

// referenceMessages is the bytes of every element of every top-level "messages"
// array, and how many such keys there are. The body must be accepted.
func referenceMessages(body []byte) (elements [][]byte, keys int) {
	d := jsontext.NewDecoder(bytes.NewReader(body), lenient()...)
	if d.PeekKind() != '{' {
		return nil, 0
	}
	token(d)
	for d.PeekKind() != '}' {
		if token(d).String() != "messages" {
			value(d)
			continue
		}
		keys++
		if d.PeekKind() != '[' {
			value(d)
			continue
		}
		token(d)
		for d.PeekKind() != ']' {
			elements = append(elements, bytes.Clone(value(d)))
		}
		token(d)
	}
	return elements, keys
}

func token(d *jsontext.Decoder) jsontext.Token {
	t, err := d.ReadToken()
	if err != nil {
		panic(err)
	}
	return t
}

func value(d *jsontext.Decoder) []byte {
	v, err := d.ReadValue()
	if err != nil {
		panic(err)
	}
	return v
}

// differsFromReference says where this package reads a body otherwise, or "".
func differsFromReference(body []byte) string {
	e, err := chat.ReadEnvelope(body)
	if accepted(body) == errors.Is(err, chat.ErrSyntax) {
		return fmt.Sprintf("accepted by the reference: %t, here: %v", accepted(body), err)
	}
	if errors.Is(err, chat.ErrSyntax) {
		return ""
	}
	want, keys := referenceMessages(body)
	switch {
	case keys > 1 && !errors.Is(err, chat.ErrDuplicateKey):
		return fmt.Sprintf("%d messages keys, got %v", keys, err)
	case keys == 0 && err == nil:
		return "no messages key, but read"
	case err != nil:
		return ""
	}
	r, err := chat.Parse(body, e)
	if err != nil {
		if errors.Is(err, chat.ErrSyntax) {
			return fmt.Sprintf("syntax error in the second pass: %v", err)
		}
		return ""
	}
	if len(r.Messages) != len(want) {
		return fmt.Sprintf("got %d messages, want %d", len(r.Messages), len(want))
	}
	for i := range want {
		if !bytes.Equal(r.Raw(i), want[i]) {
			return fmt.Sprintf("message %d: got %q, want %q", i, r.Raw(i), want[i])
		}
	}
	return ""
}
