package middleware

import (
	"strconv"
	"strings"
)

// What is emitted here is RFC 9651, whatever goes in: a value that a structured
// field cannot carry is replaced, never sent broken.

// maxInteger is the largest integer of a structured field.
const maxInteger = 999_999_999_999_999

// foldHeader is the value of Foldgate-Fold.
type foldHeader struct {
	// Kind is none, reused, committed, unfenced, fallback, unfit, bypassed or pending.
	Kind string
	// Reason is one of the documented reasons; empty: none.
	Reason string
	// Retried: the upstream refused a first form of this request.
	Retried bool
}

// String serializes the field, for example: fallback; reason="timeout"; retried
func (h foldHeader) String() string {
	b := appendToken(make([]byte, 0, 64), h.Kind)
	if h.Reason != "" {
		b = append(b, `; reason=`...)
		b = appendString(b, h.Reason)
	}
	if h.Retried {
		b = append(b, `; retried`...)
	}
	return string(b)
}

// tokensHeader is the value of Foldgate-Tokens.
type tokensHeader struct {
	// Before and After are token counts; -1: the request was not counted.
	Before, After int
	// Window is the model's window in tokens; 0: unknown.
	Window int
	// Source is where the window is known from.
	Source string
}

// String serializes the field, for example:
// before=140000, after=52000, window=128000, source=config
func (h tokensHeader) String() string {
	b := make([]byte, 0, 80)
	if h.Before >= 0 {
		b = append(appendInteger(append(b, "before="...), uint64(h.Before)), ", "...)
	}
	if h.After >= 0 {
		b = append(appendInteger(append(b, "after="...), uint64(h.After)), ", "...)
	}
	if h.Window > 0 {
		b = append(appendInteger(append(b, "window="...), uint64(h.Window)), ", "...)
	}
	source := h.Source
	if source == "" {
		source = "unknown"
	}
	return string(appendToken(append(b, "source="...), source))
}

// attemptHeader is the value of Foldgate-Attempt.
type attemptHeader struct {
	ID         string
	Generation uint64
	// Outcome is running, committed, ineffective, failed, cancelled, abandoned,
	// superseded, lost or unfenced.
	Outcome string
	// Joined: this request did not start the attempt.
	Joined bool
}

// String serializes the field, for example:
// id="01890a5d-…", generation=3, outcome=committed, joined
func (h attemptHeader) String() string {
	b := appendString(append(make([]byte, 0, 112), "id="...), h.ID)
	b = appendInteger(append(b, ", generation="...), h.Generation)
	b = appendToken(append(b, ", outcome="...), h.Outcome)
	if h.Joined {
		b = append(b, ", joined"...)
	}
	return string(b)
}

// keyHeader is the value of Foldgate-Key.
func keyHeader(key string) string { return string(appendString(nil, key)) }

// appendToken writes s as an sf-token. Characters that a token cannot hold
// become underscores; a token must begin with a letter.
func appendToken(b []byte, s string) []byte {
	if s == "" {
		return append(b, "unknown"...)
	}
	if c := s[0]; !isAlpha(c) {
		b = append(b, 'x')
	}
	for i := range len(s) {
		c := s[i]
		if !isAlpha(c) && !(c >= '0' && c <= '9') && !strings.ContainsRune("!#$%&'*+-.^_`|~:/", rune(c)) {
			c = '_'
		}
		b = append(b, c)
	}
	return b
}

func isAlpha(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// appendString writes s as an sf-string. What is not printable ASCII becomes a
// question mark.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < ' ' || c > '~':
			b = append(b, '?')
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}

// appendInteger writes n as an sf-integer; larger ones are cut to the largest.
func appendInteger(b []byte, n uint64) []byte {
	return strconv.AppendUint(b, min(n, maxInteger), 10)
}
