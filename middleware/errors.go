package middleware

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// errorCode is the "code" of an error that the gateway itself answers with.
type errorCode string

// The gateway's own errors. Everything else that a client sees is the
// upstream's own response.
const (
	codeContextLength       errorCode = "context_length_exceeded"
	codeBodyBroken          errorCode = "request_body_broken"
	codeTooLarge            errorCode = "request_too_large"
	codeUpstreamUnreachable errorCode = "upstream_unreachable"
	codeUpstreamTimeout     errorCode = "upstream_timeout"
	codeDraining            errorCode = "draining"
	codeOverloaded          errorCode = "overloaded"
)

// What reading a request may end in. Each is one line of the error table.
var (
	// errTooLarge: the body is over the limit.
	errTooLarge = errors.New("middleware: request body over the limit")
	// errOverloaded: the bodies in flight would pass the memory budget.
	errOverloaded = errors.New("middleware: memory budget for bodies used up")
	// errBodyBroken: the client sent less than it announced, or broken chunks.
	errBodyBroken = errors.New("middleware: request body broken")
)

// ErrorEntry is one line of the error table.
type ErrorEntry struct {
	// Code is the "code" of the envelope.
	Code string
	// Status is the HTTP status.
	Status int
	// Type is the "type" of the envelope.
	Type string
	// RetryAfter is what the Retry-After header says; zero: the header is absent.
	RetryAfter time.Duration
}

// ErrorTable lists every error that the gateway itself answers with, as a copy.
// Anything else that reaches a client is the upstream's own response.
func ErrorTable() []ErrorEntry { return slices.Clone(errorTable[:]) }

const (
	typeInvalid = "invalid_request_error"
	typeServer  = "server_error"
)

// errorTable is read only.
var errorTable = [...]ErrorEntry{
	{Code: string(codeContextLength), Status: http.StatusBadRequest, Type: typeInvalid},
	{Code: string(codeBodyBroken), Status: http.StatusBadRequest, Type: typeInvalid},
	{Code: string(codeTooLarge), Status: http.StatusRequestEntityTooLarge, Type: typeInvalid},
	{Code: string(codeUpstreamUnreachable), Status: http.StatusBadGateway, Type: typeServer},
	{Code: string(codeUpstreamTimeout), Status: http.StatusGatewayTimeout, Type: typeServer},
	{Code: string(codeDraining), Status: http.StatusServiceUnavailable, Type: typeServer, RetryAfter: time.Second},
	{Code: string(codeOverloaded), Status: http.StatusServiceUnavailable, Type: typeServer, RetryAfter: 2 * time.Second},
}

// errorEntry looks a code up. A code outside the table is a fault of ours and
// answered as one that says nothing wrong: 502.
func errorEntry(code errorCode) ErrorEntry {
	for _, e := range errorTable {
		if e.Code == string(code) {
			return e
		}
	}
	return ErrorEntry{Code: string(code), Status: http.StatusBadGateway, Type: typeServer}
}

// codeOf maps what reading a body ended in to its line of the table.
func codeOf(err error) errorCode {
	switch {
	case errors.Is(err, errTooLarge):
		return codeTooLarge
	case errors.Is(err, errOverloaded):
		return codeOverloaded
	default:
		return codeBodyBroken
	}
}

// writeError answers with one of the gateway's own errors in the API's
// envelope. param names the field at fault and is null when empty. It must be
// called before anything else was written.
func writeError(w http.ResponseWriter, r *http.Request, code errorCode, message, param string) {
	e := errorEntry(code)
	body := appendEnvelope(nil, e, message, param)
	body = append(body, '\n')

	h := w.Header()
	// What described another body would be wrong for this one.
	for _, name := range [...]string{"Content-Encoding", "Etag", "Last-Modified", "Cache-Control", "Trailer"} {
		h.Del(name)
	}
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if e.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int(e.RetryAfter/time.Second)))
	}
	w.WriteHeader(e.Status)
	if r == nil || r.Method != http.MethodHead {
		_, _ = w.Write(body) // the client may be gone: nothing is left to do
	}
}

// writeInStreamError ends an event stream whose head is long gone with an error
// object and the end mark, as OpenAI-compatible servers do.
func writeInStreamError(w http.ResponseWriter, code errorCode, message, param string) {
	frame := append([]byte("data: "), appendEnvelope(nil, errorEntry(code), message, param)...)
	frame = append(frame, "\n\n"...)
	frame = append(frame, streamDone...)
	_, _ = w.Write(frame)
	_ = http.NewResponseController(w).Flush()
}

// streamDone is the end mark of an event stream.
const streamDone = "data: [DONE]\n\n"

func appendEnvelope(dst []byte, e ErrorEntry, message, param string) []byte {
	dst = append(dst, `{"error":{"message":`...)
	dst = appendJSONString(dst, message)
	dst = append(dst, `,"type":`...)
	dst = appendJSONString(dst, e.Type)
	dst = append(dst, `,"param":`...)
	if param == "" {
		dst = append(dst, "null"...)
	} else {
		dst = appendJSONString(dst, param)
	}
	dst = append(dst, `,"code":`...)
	dst = appendJSONString(dst, e.Code)
	return append(dst, "}}"...)
}

// appendJSONString quotes any bytes; what is no UTF-8 becomes U+FFFD.
func appendJSONString(dst []byte, s string) []byte {
	// The only error there is is invalid UTF-8, and that is replaced first.
	dst, _ = jsontext.AppendQuote(dst, strings.ToValidUTF8(s, "\uFFFD"))
	return dst
}

// abortResponse ends a response without an answer: the connection is closed, so that
// nothing looks complete. Outside a server there is nobody to recover the
// panic, and nothing is written.
func abortResponse(r *http.Request) {
	if r.Context().Value(http.ServerContextKey) != nil {
		panic(http.ErrAbortHandler)
	}
}
