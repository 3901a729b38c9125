package middleware

import (
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The fields of our own, in canonical form. All of them begin with ownPrefix and
// none passes in either direction.
const (
	ownPrefix          = "Foldgate-"
	headerConversation = "Foldgate-Conversation"
	headerBypass       = "Foldgate-Bypass"
	headerFold         = "Foldgate-Fold"
	headerTokens       = "Foldgate-Tokens" //nolint:gosec // model tokens, no credential
	headerAttempt      = "Foldgate-Attempt"
	headerKey          = "Foldgate-Key"
)

// maxConversationID is the longest conversation id, in bytes.
const maxConversationID = 255

// conversationID is the id that the client gave its conversation: 1 to 255
// visible ASCII characters, taken literally, without one pair of enclosing
// quotes. Anything else, several values included, counts as absent.
func conversationID(h http.Header) (string, bool) {
	values := h[headerConversation]
	if len(values) != 1 {
		return "", false
	}
	id := strings.Trim(values[0], " \t")
	if len(id) >= 2 && id[0] == '"' && id[len(id)-1] == '"' {
		id = id[1 : len(id)-1]
	}
	if len(id) == 0 || len(id) > maxConversationID {
		return "", false
	}
	for i := range len(id) {
		if id[i] <= ' ' || id[i] > '~' {
			return "", false
		}
	}
	return id, true
}

// bypass reports whether the client asks to be passed on untouched.
func bypass(h http.Header) bool {
	values := h[headerBypass]
	if len(values) != 1 {
		return false
	}
	switch strings.Trim(values[0], " \t") {
	case "?1", "1", "true":
		return true
	default:
		return false
	}
}

// stripFoldgate removes every field of ours.
func stripFoldgate(h http.Header) {
	for name := range h {
		if isOwn(name) {
			delete(h, name)
		}
	}
}

// withoutOwn is r for the next handler without fields of ours: what a client told
// this gateway, the name of a conversation mostly, is nobody else's. It is r itself
// where there is none.
func withoutOwn(r *http.Request) *http.Request {
	own := hasOwn(r.Header)
	if !own && len(r.Trailer) == 0 {
		return r
	}
	out := r.WithContext(r.Context()) // a shallow copy
	if own {
		out.Header = r.Header.Clone()
		stripFoldgate(out.Header)
	}
	if len(r.Trailer) > 0 {
		// The same map, since the server fills it when the body has been read.
		stripFoldgate(r.Trailer)
		out.Body = &trailedBody{ReadCloser: r.Body, trailer: r.Trailer}
	}
	return out
}

// trailedBody is a body whose trailers, which come at its end, lose our fields.
type trailedBody struct {
	io.ReadCloser
	trailer http.Header
}

func (b *trailedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		stripFoldgate(b.trailer)
	}
	return n, err
}

// hasOwn reports whether a header carries fields of ours.
func hasOwn(h http.Header) bool {
	for name := range h {
		if isOwn(name) {
			return true
		}
	}
	return false
}

// isOwn reports whether name is one of our fields, however it is spelled.
func isOwn(name string) bool {
	return len(name) >= len(ownPrefix) && strings.EqualFold(name[:len(ownPrefix)], ownPrefix)
}

// callerTimeout is how long the client's SDK says that it waits: the smaller of
// x-stainless-read-timeout and x-stainless-timeout, both in seconds. 0: it does
// not say.
func callerTimeout(h http.Header) time.Duration {
	var least time.Duration
	for _, name := range [...]string{"X-Stainless-Read-Timeout", "X-Stainless-Timeout"} {
		d := seconds(h.Get(name))
		if d > 0 && (least == 0 || d < least) {
			least = d
		}
	}
	return least
}

// seconds reads a positive decimal number of seconds, at most a day; 0 is
// anything else.
func seconds(s string) time.Duration {
	if s == "" || len(s) > 32 {
		return 0
	}
	f, err := strconv.ParseFloat(strings.Trim(s, " \t"), 64)
	if err != nil || math.IsNaN(f) || f <= 0 {
		return 0
	}
	const day = 24 * time.Hour
	if f >= day.Seconds() {
		return day
	}
	return time.Duration(f * float64(time.Second))
}
