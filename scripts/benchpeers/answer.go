package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// What can be wrong with an answer.
var (
	errShort   = errors.New("the answer was cut short")
	errCorrupt = errors.New("the answer is not what was sent")
	errRefused = errors.New("the request was refused")
)

// want is what an answer must be.
type want struct {
	// body is what must arrive to the byte. Nil: contains is looked for.
	body     []byte
	contains []byte
	// fold is how Foldgate-Fold must begin; empty: not looked at.
	fold string
	// counted: Foldgate-Tokens must tell a count.
	counted bool
	// anything: it need only come whole.
	anything bool
}

// answer is what was read, beside its body.
type answer struct {
	status int
	length int64 // -1: none named
	chunks bool
	close  bool
	fold   string
	tokens string
	first  time.Time // when the body began
}

// read reads one answer to its end and judges it.
func (c *connection) read(w *want) (a answer, err error) {
	if a, err = c.head(); err != nil {
		return a, err
	}
	c.body = c.body[:0]
	switch {
	case a.chunks:
		err = c.chunked(&a)
	case a.length >= 0:
		err = c.take(&a, a.length)
	default:
		a.close = true
		err = c.rest(&a)
	}
	if a.first.IsZero() {
		a.first = time.Now()
	}
	if err != nil {
		return a, fmt.Errorf("%w: %w", errShort, err)
	}
	return a, a.judge(c.body, w)
}

func (c *connection) head() (a answer, err error) {
	a.length = -1
	line, err := c.r.ReadSlice('\n')
	if err != nil {
		return a, fmt.Errorf("%w: before its head: %w", errShort, err)
	}
	fields := bytes.Fields(line)
	if len(fields) < 2 {
		return a, fmt.Errorf("%w: status line %q", errCorrupt, line)
	}
	if a.status, err = strconv.Atoi(string(fields[1])); err != nil {
		return a, fmt.Errorf("%w: status line %q", errCorrupt, line)
	}
	for {
		line, err := c.r.ReadSlice('\n')
		if err != nil {
			return a, fmt.Errorf("%w: in its head: %w", errShort, err)
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			return a, nil
		}
		a.field(line)
	}
}

func (a *answer) field(line []byte) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimSpace(value)
	switch {
	case bytes.EqualFold(name, []byte("Content-Length")):
		a.length, _ = strconv.ParseInt(string(value), 10, 64)
	case bytes.EqualFold(name, []byte("Transfer-Encoding")):
		a.chunks = bytes.EqualFold(value, []byte("chunked"))
	case bytes.EqualFold(name, []byte("Connection")):
		a.close = bytes.EqualFold(value, []byte("close"))
	case bytes.EqualFold(name, []byte("Foldgate-Fold")):
		a.fold = string(value)
	case bytes.EqualFold(name, []byte("Foldgate-Tokens")):
		a.tokens = string(value)
	}
}

// take reads n bytes of the body.
func (c *connection) take(a *answer, n int64) error {
	if n > 0 && a.first.IsZero() {
		if _, err := c.r.Peek(1); err != nil {
			return err
		}
		a.first = time.Now()
	}
	at := len(c.body)
	c.body = append(c.body, make([]byte, n)...)
	_, err := io.ReadFull(c.r, c.body[at:])
	return err
}

// chunked reads chunks, and trailers, to the end.
func (c *connection) chunked(a *answer) error {
	for {
		line, err := c.r.ReadSlice('\n')
		if err != nil {
			return err
		}
		size, _, _ := bytes.Cut(bytes.TrimSpace(line), []byte(";"))
		n, err := strconv.ParseInt(string(size), 16, 64)
		if err != nil || n < 0 {
			return fmt.Errorf("chunk size %q", line)
		}
		if n == 0 {
			break
		}
		if err := c.take(a, n); err != nil {
			return err
		}
		if _, err := c.r.Discard(2); err != nil {
			return err
		}
	}
	for {
		line, err := c.r.ReadSlice('\n')
		if err != nil {
			return err
		}
		if len(bytes.TrimSpace(line)) == 0 {
			return nil
		}
	}
}

// rest reads until the peer closes.
func (c *connection) rest(a *answer) error {
	for {
		b, err := c.r.Peek(1)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if a.first.IsZero() {
			a.first = time.Now()
		}
		b, _ = c.r.Peek(c.r.Buffered())
		c.body = append(c.body, b...)
		_, _ = c.r.Discard(len(b)) // they are there
	}
}

// judge holds an answer that came whole against what it must be.
func (a *answer) judge(body []byte, w *want) error {
	switch {
	case w.anything:
		return nil
	case a.status != http.StatusOK:
		return fmt.Errorf("%w: status %d: %.200s", errRefused, a.status, body)
	case w.body != nil && !bytes.Equal(body, w.body):
		return fmt.Errorf("%w: %d bytes instead of %d: %.80q", errCorrupt, len(body), len(w.body), body)
	case w.body == nil && !bytes.Contains(body, w.contains):
		return fmt.Errorf("%w: %.200q", errCorrupt, body)
	case len(a.fold) < len(w.fold) || a.fold[:len(w.fold)] != w.fold:
		return fmt.Errorf("%w: Foldgate-Fold is %q, not %q", errCorrupt, a.fold, w.fold)
	case w.counted && !bytes.Contains([]byte(a.tokens), []byte("before=")):
		return fmt.Errorf("%w: it was not counted: %q, %q", errCorrupt, a.fold, a.tokens)
	}
	return nil
}
