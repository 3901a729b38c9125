package admin

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/foldgate/foldgate/ownership"
)

// bodyTimeout bounds how long a body may take to come.
const bodyTimeout = 30 * time.Second

// maxReason bounds the reason of a cancel, in bytes.
const maxReason = 255

// readBody reads a whole body, within its limit and in time.
func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, *problem) {
	// Where there is no connection there is nobody to be slow.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout))
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	var large *http.MaxBytesError
	switch {
	case err == nil:
		return raw, nil
	case errors.As(err, &large):
		return nil, &problemTooLarge
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, &problemSlow
	}
	return nil, &problemBody
}

// changeRequest is the body of a change. Generation and attempt name the owner
// that the operator saw; without them the owner is read first.
type changeRequest struct {
	Generation *ownership.Generation `json:"generation"`
	Attempt    *ownership.AttemptID  `json:"attempt"`
	Reason     string                `json:"reason"`
}

// fence is the owner that the request names; false: it names none.
func (c changeRequest) fence() (ownership.Fence, bool) {
	if c.Generation == nil {
		return ownership.Fence{}, false
	}
	return ownership.Fence{Generation: *c.Generation, Attempt: *c.Attempt}, true
}

// readChange reads the body of a change: one object, its fields spelled as
// documented and each there at most once. An empty body is an empty object.
func readChange(w http.ResponseWriter, r *http.Request) (c changeRequest, bad *problem) {
	raw, bad := readBody(w, r, changeLimit)
	if raw = bytes.TrimSpace(raw); bad != nil || len(raw) == 0 {
		return c, bad
	}
	refused := func(message, param string) (changeRequest, *problem) {
		p := problemBody.with(message, param)
		return changeRequest{}, &p
	}
	if raw[0] != '{' || jsonv2.Unmarshal(raw, &c, jsonv2.RejectUnknownMembers(true)) != nil {
		return refused(`the body must be an object of "generation" (a number), "attempt" and "reason" (texts)`, "")
	}
	if (c.Generation == nil) != (c.Attempt == nil) {
		return refused("generation and attempt go together", "generation")
	}
	if f, named := c.fence(); named && f.Check() != nil {
		return refused("generation is a number over 0 and attempt a UUID in lower case", "attempt")
	}
	if len(c.Reason) > maxReason {
		return refused("reason has at most 255 bytes", "reason")
	}
	return c, nil
}

// one is the only value of a query parameter; ok is false where there are
// several, or where the query cannot be read.
func one(r *http.Request, name string) (value string, there, ok bool) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	values := query[name]
	if err != nil || len(values) > 1 {
		return "", false, false
	}
	if len(values) == 0 {
		return "", false, true
	}
	return values[0], true, true
}

// switchOf is a query parameter that is 1 or 0, which is the same as none.
func switchOf(r *http.Request, name string) (bool, *problem) {
	value, there, ok := one(r, name)
	switch {
	case !ok:
		return false, &problemQuery
	case value == "1":
		return true, nil
	case value == "0", !there:
		return false, nil
	}
	p := problemQuery.with(name+" is 1 or 0", name)
	return false, &p
}

// limitOf is the greatest number of entries that a list may have.
func limitOf(r *http.Request, most int) (int, *problem) {
	text, there, ok := one(r, "limit")
	if ok && !there {
		return defaultLimit, nil
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if !ok || err != nil || n < 1 || n > uint64(most) { //nolint:gosec // most is a small constant
		p := problemLimit.with("limit must be a whole number from 1 to "+strconv.Itoa(most), problemLimit.param)
		return 0, &p
	}
	return int(n), nil
}
