package admin

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"github.com/foldgate/foldgate/ownership"
)

// problem is one line of the plane's error table.
type problem struct {
	status  int
	code    string
	kind    string // the envelope's type
	message string
	param   string // the field at fault, or empty
}

const (
	kindInvalid = "invalid_request_error"
	kindServer  = "server_error"
)

// The table. Every error of the plane is one of these, some with a message or
// field of their own.
var (
	problemNoRoute     = problem{http.StatusNotFound, "not_found", kindInvalid, "there is nothing here", ""}
	problemMethod      = problem{http.StatusMethodNotAllowed, "method_not_allowed", kindInvalid, "this path does not take that method", ""}
	problemHost        = problem{http.StatusForbidden, "host_not_allowed", kindInvalid, "the Host is none under which the admin plane may be asked; see admin_hosts", ""}
	problemOrigin      = problem{http.StatusForbidden, "origin_not_allowed", kindInvalid, "a change from another origin is refused", ""}
	problemToken       = problem{http.StatusUnauthorized, "invalid_token", kindInvalid, "the admin token is required as a bearer", ""}
	problemNoToken     = problem{http.StatusForbidden, "token_not_configured", kindInvalid, "this needs admin_token to be configured", ""}
	problemContentType = problem{http.StatusUnsupportedMediaType, "unsupported_media_type", kindInvalid, "Content-Type must be application/json", ""}
	problemTooLarge    = problem{http.StatusRequestEntityTooLarge, "request_too_large", kindInvalid, "the body is too large", ""}
	problemBody        = problem{http.StatusBadRequest, "invalid_body", kindInvalid, "the body cannot be read", ""}
	problemKey         = problem{http.StatusBadRequest, "invalid_key", kindInvalid, "a conversation key is 40 lower-case hexadecimal digits", "key"}
	problemLimit       = problem{http.StatusBadRequest, "invalid_limit", kindInvalid, "limit must be a whole number from 1 to 1000", "limit"}
	problemFold        = problem{http.StatusBadRequest, "invalid_request", kindInvalid, "the request cannot be folded", ""}
	problemQuery       = problem{http.StatusBadRequest, "invalid_query", kindInvalid, "the query cannot be read", ""}
	problemSlow        = problem{http.StatusRequestTimeout, "request_timeout", kindInvalid, "the body did not come in time", ""}
	problemUnknown     = problem{http.StatusNotFound, "conversation_not_found", kindInvalid, "no such conversation in the store", "key"}
	problemNotCurrent  = problem{http.StatusConflict, "not_current", kindInvalid, "the owner is another one, or there is none", ""}
	problemEnded       = problem{http.StatusConflict, "attempt_ended", kindInvalid, "the attempt ended", ""}
	problemCommitted   = problem{http.StatusConflict, "attempt_committed", kindInvalid, "the attempt has committed", ""}
	problemNothing     = problem{http.StatusConflict, "nothing_to_restore", kindInvalid, "there is no checkpoint to take back", ""}
	problemStore       = problem{http.StatusServiceUnavailable, "store_unavailable", kindServer, "the store could not be asked", ""}
	problemNoAnswer    = problem{http.StatusServiceUnavailable, "store_no_answer", kindServer, "the store did not answer: a change may have been made", ""}
	problemInternal    = problem{http.StatusInternalServerError, "internal_error", kindServer, "this failed", ""}
)

// with is the problem with a message of its own.
func (p problem) with(message, param string) problem {
	p.message, p.param = message, param
	return p
}

// storeProblem is the line of the table for what the store answered. The
// store's own text stays inside.
func storeProblem(err error) *problem {
	var ended *ownership.EndedError
	switch {
	case errors.As(err, &ended):
		return endedProblem(ended.Phase)
	case errors.Is(err, ownership.ErrNotCurrent), errors.Is(err, ownership.ErrSuperseded), errors.Is(err, ownership.ErrLost):
		return &problemNotCurrent
	case errors.Is(err, ownership.ErrInvalid):
		p := problemBody.with("generation and attempt do not name an attempt", "attempt")
		return &p
	case errors.Is(err, ownership.ErrUnavailable):
		return &problemStore
	case errors.Is(err, ownership.ErrIndeterminate), errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return &problemNoAnswer
	case errors.Is(err, errUnknown):
		return &problemUnknown
	case errors.Is(err, errNothing):
		return &problemNothing
	}
	return &problemInternal
}

func endedProblem(phase ownership.Phase) *problem {
	switch phase {
	case ownership.Committed, ownership.Settled, ownership.Restored:
		return &problemCommitted
	}
	p := problemEnded.with("the attempt ended as "+string(phase), "")
	return &p
}

// envelope is the API's own form of an error.
type envelope struct {
	Error struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    string  `json:"code"`
	} `json:"error"`
}

// refuse answers with a problem.
func refuse(w http.ResponseWriter, p problem) {
	var e envelope
	e.Error.Message, e.Error.Type, e.Error.Code = p.message, p.kind, p.code
	if p.param != "" {
		e.Error.Param = &p.param
	}
	switch p.status {
	case http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", "1")
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", `Bearer realm="foldgate"`)
	}
	answer(w, p.status, e)
}

// answer writes v as JSON. What the plane encodes is its own and always can be.
func answer(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		status, body = http.StatusInternalServerError, []byte(`{"error":{"message":"this failed","type":"server_error","param":null,"code":"internal_error"}}`)
	}
	send(w, status, "application/json", append(body, '\n'))
}

// send writes a whole response; to a HEAD the server leaves the body out.
func send(w http.ResponseWriter, status int, kind string, body []byte) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // the caller may be gone: nothing is left to do
}
