package refusal

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	// maxBody is how much of a body is looked at, and how much text of it kept.
	maxBody = 64 << 10
	// maxNested is how many strings deep JSON is looked for inside strings.
	maxNested = 4
	// maxStarts is in how many places of one string JSON may begin.
	maxStarts = 3
	// maxLevels is how deep objects of interest may lie in one another.
	maxLevels = 16
	// maxCodes is how many codes are kept.
	maxCodes = 32
)

// shape is what a body may look like.
type shape uint8

const (
	anyShape    shape = iota // the status says that it is an error
	errorObject              // it is an error only if it holds an error object
)

// report is a flattened error body.
type report struct {
	text   []byte   // all messages, one a line, in lower case
	codes  []string // all codes, types and statuses, in lower case
	status int      // the first HTTP status named inside

	nPrompt, nCtx int // fields of llama.cpp

	hasError   bool // a top-level error that is not empty
	hasMessage bool // a top-level message, and
	hasCode    bool // a top-level code
	hasChoices bool // an answer
}

// role is what the value under a key is good for.
type role uint8

const (
	noRole    role = iota // not looked into: it may quote the request
	textRole              // a message, or something that holds messages
	codeRole              // a code, a type or a status
	holdRole              // holds more errors; its own text says nothing
	promptNum             // llama.cpp's n_prompt_tokens
	ctxNum                // llama.cpp's n_ctx
)

func roleOf(key string) role {
	switch strings.ToLower(key) {
	case "error", "errors", "message", "msg", "detail", "details", "raw", "error_message", "error_msg", "errormessage":
		return textRole
	case "code", "type", "status", "status_code", "reason", "object", "error_type", "error_code", "errorcode", "__type":
		return codeRole
	case "metadata", "innererror", "inner_error", "response", "body", "cause":
		return holdRole
	case "n_prompt_tokens":
		return promptNum
	case "n_ctx":
		return ctxNum
	}
	return noRole
}

// maybeError is the byte search that spares an answer from being parsed.
func maybeError(data []byte) bool {
	data = data[:min(len(data), maxBody)]
	return bytes.Contains(data, []byte(`"error"`)) ||
		bytes.Contains(data, []byte(`"code"`)) && bytes.Contains(data, []byte(`"message"`))
}

// open flattens a body. A body that breaks off, or is cut at maxBody, gives what
// stood before.
func open(body []byte, s shape) *report {
	body = bytes.TrimSpace(body[:min(len(body), maxBody)])
	body = bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))
	r := &report{}
	r.parse(body, 0)
	if s == anyShape && len(r.text) == 0 && len(r.codes) == 0 {
		r.addText(string(body), 0) // no JSON, or a message that is cut
	}
	return r
}

// isError reports whether a body that came with 200 holds an error after all.
func (r *report) isError() bool {
	return r.hasError || r.has("error") && len(r.text) > 0 || !r.hasChoices && r.hasCode && r.hasMessage
}

// has reports whether the code stands anywhere in the body.
func (r *report) has(code string) bool {
	for _, c := range r.codes {
		if c == code {
			return true
		}
	}
	return false
}

// parse reads one JSON value, as far as it goes. It reports whether there was
// one that can hold an error.
func (r *report) parse(b []byte, nested int) bool {
	if len(b) == 0 || b[0] != '{' && b[0] != '[' && b[0] != '"' {
		return false
	}
	// Errors are not reported: what was read before stands.
	w := walker{report: r, nested: nested, dec: jsontext.NewDecoder(bytes.NewBuffer(b),
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))}
	return w.value(textRole, 0) == nil
}

// addText keeps a message, and looks for the error of another upstream in it.
func (r *report) addText(s string, nested int) {
	if s = strings.TrimSpace(s); s == "" {
		return
	}
	if room := maxBody - len(r.text); room > 0 {
		r.text = append(r.text, strings.ToLower(s[:min(len(s), room)])...)
		r.text = append(r.text, '\n')
	}
	r.addNested(s, nested)
}

// addNested looks for the JSON of another upstream in a string.
func (r *report) addNested(s string, nested int) {
	if nested >= maxNested {
		return
	}
	for range maxStarts {
		i := strings.IndexByte(s, '{')
		if i < 0 {
			return
		}
		if s = s[i:]; r.parse([]byte(s), nested+1) {
			return
		}
		s = s[1:]
	}
}

// addCode keeps a code and the status that it may be.
func (r *report) addCode(s string) {
	if n, err := strconv.Atoi(s); err == nil {
		if n >= 400 && n < 600 && r.status == 0 {
			r.status = n
		}
		return
	}
	if s != "" && len(r.codes) < maxCodes {
		r.codes = append(r.codes, strings.ToLower(s[:min(len(s), 128)]))
	}
}
