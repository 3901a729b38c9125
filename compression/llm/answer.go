package llm

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/foldgate/foldgate/compression/refusal"
	"github.com/foldgate/foldgate/compression/sse"
)

const (
	// maxReasoning is how many characters of reasoning are kept.
	maxReasoning = 8000
	// maxStream is how many bytes of a stream are read. A token of text costs a
	// few hundred bytes of chunk, and a model may think for long.
	maxStream = 256 << 20
	// overhead is what a whole JSON answer may hold beside the visible text.
	overhead = 4 << 20
)

// readError is an error of the connection while the answer was read.
type readError struct{ err error }

func (e *readError) Error() string { return e.err.Error() }
func (e *readError) Unwrap() error { return e.err }

// answer is built from the pieces as they come.
type answer struct {
	Answer
	max      int
	progress func()
	// finished is called when the finish reason came; what it returns, when
	// reading is over.
	finished func() (stop func() bool)

	text, reasoning strings.Builder
	refusal         strings.Builder
	runes           int // characters in reasoning
	stop            func() bool
	framed          bool // it has events or comments
	ended           bool // a finish reason or [DONE] was seen
	done            bool // nothing more is to be read
	atEnd           bool // the connection has ended: what is parsed now may be cut
	err             error
}

// readFrom reads a stream or one JSON object, whichever it is, to its end.
func (a *answer) readFrom(body io.Reader) error {
	defer func() {
		if a.stop != nil {
			a.stop()
		}
	}()
	buf := make([]byte, 32<<10)
	head, err := firstBytes(body, buf)
	switch {
	case len(head) > 0 && (head[0] == '{' || head[0] == '['):
		// No event stream begins so, whatever the content type says.
		err = a.readObject(head, body, err)
	default:
		err = a.readStream(head, body, buf, err)
	}
	return a.settle(err)
}

// firstBytes reads until there is something else than white space, which some
// servers send while a request waits.
func firstBytes(body io.Reader, buf []byte) ([]byte, error) {
	for read := 0; ; {
		n, err := body.Read(buf)
		head := bytes.TrimLeft(buf[:n], " \t\r\n")
		if len(head) > 0 || err != nil {
			return head, err
		}
		if read += n; read > maxStream {
			return nil, ErrTooLong
		}
	}
}

// readStream feeds the parser until the answer is complete. err is what the
// read of head ended with.
func (a *answer) readStream(head []byte, body io.Reader, buf []byte, err error) error {
	parser := sse.NewParser(a.max + overhead)
	total := len(head)
	for {
		parser.Write(head, a.event)
		if a.done || a.err != nil {
			return a.err
		}
		if total > maxStream {
			return ErrTooLong
		}
		if err == io.EOF {
			a.atEnd = true
			parser.Close(a.event)
			if !a.framed && total > 0 && a.err == nil {
				return ErrMalformed // a page, or anything else that is no stream
			}
			return a.err
		}
		if err != nil {
			return err
		}
		var n int
		n, err = body.Read(buf)
		head = buf[:n]
		total += n
	}
}

// readObject reads the answer of a server that does not stream.
func (a *answer) readObject(head []byte, body io.Reader, err error) error {
	limit := int64(a.max + overhead)
	whole := bytes.NewBuffer(bytes.Clone(head))
	if err == nil {
		_, err = whole.ReadFrom(io.LimitReader(body, limit+1-int64(len(head))))
	}
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return err
	case int64(whole.Len()) > limit:
		return ErrTooLong
	}
	data := bytes.TrimSpace(whole.Bytes())
	if a.refused(data) {
		return a.err
	}
	switch p, ok := readPiece(data); {
	case ok && p.chosen:
		a.add(p, data)
		a.ended = true // a whole object is complete, also without a finish reason
		return a.err
	case !ok && data[len(data)-1] != '}':
		return ErrCut
	}
	return ErrMalformed
}

// settle says how the answer ended. A connection that breaks after the finish
// reason breaks nothing.
func (a *answer) settle(err error) error {
	a.Text, a.Reasoning, a.Refusal = a.text.String(), a.reasoning.String(), a.refusal.String()
	if strings.TrimSpace(a.Text) == "" {
		a.Text = a.Reasoning
	}
	switch {
	case err != nil && verdict(err):
		return err
	case !a.ended && (err == nil || errors.Is(err, io.ErrUnexpectedEOF)):
		return ErrCut
	case !a.ended:
		return &readError{err}
	case strings.TrimSpace(a.Text) == "" && strings.TrimSpace(a.Refusal) == "":
		return ErrEmpty
	}
	return nil
}

// verdict tells what was found out about the answer from what happened to the
// connection.
func verdict(err error) bool {
	return errors.Is(err, ErrCut) || errors.Is(err, ErrTooLong) || errors.Is(err, ErrMalformed) ||
		errors.As(err, new(*StatusError))
}

// event takes one event of the stream.
func (a *answer) event(e sse.Event) {
	a.framed = true
	switch {
	case a.done || a.err != nil || e.Comment || len(bytes.TrimSpace(e.Data)) == 0 && !e.Oversized:
	case e.Oversized:
		a.err = ErrTooLong
	case sse.Done(e.Data):
		a.ended, a.done = true, true
	case a.refused(e.Data):
	case e.Name == "error": // of a server that has its own form for it
		a.err = &StatusError{Refusal: refusal.Classify(http.StatusBadRequest, e.Data)}
	default:
		a.chunk(e.Data)
	}
}

func (a *answer) chunk(data []byte) {
	p, ok := readPiece(data)
	switch {
	case ok:
		a.add(p, data)
	case !a.atEnd: // at the end it is one that was cut
		a.err = ErrMalformed
	}
}

// refused notices an error object.
func (a *answer) refused(data []byte) bool {
	status, is := refusal.ErrorObject(data)
	if is {
		a.err = &StatusError{Status: status, Refusal: refusal.InStream(data)}
	}
	return is
}

// add takes what data, one chunk or a whole object, adds to the answer.
func (a *answer) add(p piece, data []byte) {
	if u, ok := refusal.ReadUsage(data); ok {
		a.Usage = u
	}
	if p.model != "" {
		a.Model = p.model
	}
	if a.text.Len()+len(p.text) > a.max {
		a.err = ErrTooLong
		return
	}
	a.text.WriteString(p.text)
	a.addReasoning(p.reasoning)
	if room := a.max - a.refusal.Len(); room > 0 {
		a.refusal.WriteString(p.refusal[:min(room, len(p.refusal))])
	}
	if p.text != "" || p.reasoning != "" {
		a.progress()
	}
	a.finish(p.finish)
}

// finish notes the finish reason. "error" is how some say that the answer broke.
func (a *answer) finish(reason string) {
	if reason == "" {
		return
	}
	a.FinishReason = reason
	if reason == "error" {
		a.err = &StatusError{}
		return
	}
	if !a.ended {
		a.ended = true
		a.stop = a.finished()
	}
}

// addReasoning keeps the first maxReasoning characters.
func (a *answer) addReasoning(s string) {
	for s != "" && a.runes < maxReasoning {
		_, n := utf8.DecodeRuneInString(s)
		a.reasoning.WriteString(s[:n])
		a.runes, s = a.runes+1, s[n:]
	}
}
