package llm

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/foldgate/foldgate/compression/refusal"
)

const (
	defaultMaxAnswer = 1 << 20
	// maxError is how much of an error's body is read.
	maxError = 64 << 10
	// tailGrace is how long an answer that has its finish reason is waited for:
	// the usage chunk and [DONE] may follow, or never come.
	tailGrace = 2 * time.Second
)

// errTail ends the reading of an answer that is complete.
var errTail = errors.New("llm: nothing followed the finish reason")

// Call is one question for one summary.
type Call struct {
	// URL is the full URL of the chat-completions endpoint; see EndpointURL.
	URL string
	// Header is sent as it is, the credential included; what belongs to the body
	// (Content-Type, Accept, Accept-Encoding and so on) is replaced. It is not changed.
	Header http.Header
	Model  string
	Prompt string
	// MaxAnswer is how many bytes of visible text are accepted before the call
	// is ended as too long; 0 or less: 1 MiB.
	MaxAnswer int
}

// Answer is what the model said.
type Answer struct {
	// Text is the visible text, or Reasoning where that is blank.
	Text string
	// Reasoning holds the first 8000 characters of the reasoning, if there was any.
	Reasoning string
	// FinishReason is the server's own word; empty if it sent only [DONE].
	FinishReason string
	// Refusal is the text of the refusal field.
	Refusal string
	// Usage is zero where the server reported none.
	Usage refusal.Usage
	// Model is the model that answered, as the server names it.
	Model string
}

// Client asks for summaries. It is safe for concurrent use. Use NewClient.
type Client struct {
	http *http.Client
}

// NewClient makes a client over rt; nil means a transport of its own, without a
// time limit on the response's head, since reading a long prompt takes a model
// minutes.
func NewClient(rt http.RoundTripper) *Client {
	if rt == nil {
		rt = newTransport()
	}
	return &Client{http: &http.Client{
		Transport: rt,
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // the credential must not go elsewhere
		},
	}}
}

// newTransport bounds what happens before the request is sent, and nothing after.
func newTransport() *http.Transport {
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout: 10 * time.Second,
		ForceAttemptHTTP2:   true,
		MaxIdleConns:        64,
		MaxIdleConnsPerHost: 16,
		IdleConnTimeout:     90 * time.Second,
		DisableCompression:  true, // it would hold back the pieces of a stream
	}
}

// CloseIdleConnections closes connections that no call uses.
func (c *Client) CloseIdleConnections() { c.http.CloseIdleConnections() }

// Summarize sends the prompt and reads the answer to its end. progress, which
// may be nil, is called for each piece of text that is not empty, from this
// goroutine. The errors are those of the package comment.
func (c *Client) Summarize(ctx context.Context, call Call, progress func()) (Answer, error) {
	reading, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	req, err := newRequest(reading, call)
	if err != nil {
		return Answer{}, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return Answer{}, broken(ctx, "send the prompt", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return Answer{}, refused(ctx, resp)
	}
	if progress == nil {
		progress = func() {}
	}
	a := &answer{
		max:      cmp.Or(max(call.MaxAnswer, 0), defaultMaxAnswer),
		progress: progress,
		finished: func() func() bool {
			return time.AfterFunc(tailGrace, func() { stop(errTail) }).Stop
		},
	}
	err = a.readFrom(resp.Body)
	if status := (*StatusError)(nil); errors.As(err, &status) {
		status.Status = cmp.Or(status.Status, resp.StatusCode)
		status.RetryAfter = retryAfter(resp.Header)
	}
	if errors.As(err, new(*readError)) {
		err = broken(ctx, "read the answer", err)
	}
	return a.Answer, err
}

// newRequest makes the request: the model, stream and one user message.
func newRequest(ctx context.Context, call Call) (*http.Request, error) {
	body := make([]byte, 0, len(call.Prompt)+len(call.Prompt)/16+len(call.Model)+128)
	body = append(body, `{"model":`...)
	body = appendString(body, call.Model)
	body = append(body, `,"stream":true,"messages":[{"role":"user","content":`...)
	body = appendString(body, call.Prompt)
	body = append(body, `}]}`...)
	// A bytes.Reader gives the request a length and a GetBody, with which the
	// transport may repeat it on a connection that died idle.
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, call.URL, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("llm: make the request: %w", withoutURL(err))
	}
	carry(req, call.Header)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream, application/json")
	req.Header.Set("Accept-Encoding", "identity") // compression would hold back the pieces
	return req, nil
}

// carry gives the caller's header to a request.
func carry(req *http.Request, h http.Header) {
	for key, values := range h {
		if !ours(textproto.CanonicalMIMEHeaderKey(key)) {
			req.Header[key] = append([]string(nil), values...)
		}
	}
}

// ours names the headers that describe the body and the connection of the call.
func ours(key string) bool {
	switch key {
	case "Content-Type", "Content-Length", "Content-Encoding", "Transfer-Encoding", "Accept", "Accept-Encoding", "Host":
		return true
	}
	return false
}

// appendString writes s as JSON; what is no UTF-8 becomes the replacement
// character, as the error says that is not looked at.
func appendString(dst []byte, s string) []byte {
	dst, _ = jsontext.AppendQuote(dst, s)
	return dst
}

// refused reads an answer that is no 2xx.
func refused(ctx context.Context, resp *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxError))
	if err != nil && ctx.Err() != nil {
		return broken(ctx, "read the refusal", err)
	}
	// The status says enough even where the body broke off.
	return &StatusError{
		Status:     resp.StatusCode,
		RetryAfter: retryAfter(resp.Header),
		Refusal:    refusal.Classify(resp.StatusCode, body),
	}
}

// broken wraps why a call broke: the cause of the caller's context if that
// ended, else the connection's own error.
func broken(ctx context.Context, doing string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("llm: %s: %w", doing, context.Cause(ctx))
	}
	return fmt.Errorf("llm: %s: %w", doing, withoutURL(err))
}

// withoutURL unwraps what net/http wraps around an error: the URL may hold a key.
func withoutURL(err error) error {
	if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}
