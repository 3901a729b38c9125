package refusal

import (
	"errors"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

var errTooDeep = errors.New("refusal: nested too deep")

// walker goes through one JSON value and fills the report.
type walker struct {
	report *report
	dec    *jsontext.Decoder
	nested int // strings around this value
}

// value reads one value, whose key has the role.
func (w *walker) value(is role, level int) error {
	if is == noRole {
		return w.dec.SkipValue()
	}
	if level > maxLevels {
		return errTooDeep
	}
	switch w.dec.PeekKind() {
	case '{':
		return w.object(level)
	case '[':
		return w.array(is, level)
	}
	token, err := w.dec.ReadToken()
	if err != nil {
		return err
	}
	switch token.Kind() {
	case '"':
		w.text(is, token.String())
	case '0':
		w.number(is, token)
	}
	return nil
}

func (w *walker) array(is role, level int) error {
	if _, err := w.dec.ReadToken(); err != nil {
		return err
	}
	for w.dec.PeekKind() != ']' {
		if err := w.value(is, level+1); err != nil {
			return err
		}
	}
	_, err := w.dec.ReadToken()
	return err
}

func (w *walker) object(level int) error {
	if _, err := w.dec.ReadToken(); err != nil {
		return err
	}
	for w.dec.PeekKind() != '}' {
		token, err := w.dec.ReadToken()
		if err != nil {
			return err
		}
		key := token.String()
		texts, codes := len(w.report.text), len(w.report.codes)
		err = w.value(roleOf(key), level+1)
		if w.nested == 0 && level <= 1 { // an array of one counts as the top too
			w.report.noteTop(key, len(w.report.text) > texts, len(w.report.codes) > codes)
		}
		if err != nil {
			return err
		}
	}
	_, err := w.dec.ReadToken()
	return err
}

// noteTop remembers what a top-level key gave.
func (r *report) noteTop(key string, text, code bool) {
	switch key {
	case "error":
		r.hasError = r.hasError || text || code
	case "message":
		r.hasMessage = r.hasMessage || text
	case "code":
		r.hasCode = r.hasCode || code
	case "choices":
		r.hasChoices = true
	}
}

func (w *walker) text(is role, s string) {
	switch is {
	case textRole:
		w.report.addText(s, w.nested)
	case codeRole:
		w.report.addCode(strings.TrimSpace(s))
	case holdRole:
		w.report.addNested(s, w.nested)
	}
}

func (w *walker) number(is role, token jsontext.Token) {
	n, err := token.Int()
	switch {
	case err != nil || n <= 0 || n > maxNumber:
	case is == promptNum:
		w.report.nPrompt = int(n)
	case is == ctxNum:
		w.report.nCtx = int(n)
	case is == codeRole:
		w.report.addCode(token.String())
	}
}
