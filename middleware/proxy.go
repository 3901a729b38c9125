package middleware

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/foldgate/foldgate/internal/plain"
)

// ProxyConfig is what NewProxy needs.
type ProxyConfig struct {
	// Upstream is the absolute base URL. Its path comes before the request's, a
	// segment that both have in common once; its query, if it has one, before the
	// request's query.
	Upstream *url.URL
	// Transport carries the calls. Nil: NewTransport. One that decompresses or
	// follows redirects breaks the promise of an exact pass-through.
	Transport http.RoundTripper
	// Timeout is the longest silence of the upstream, before the head or between
	// two pieces of the body. Zero: none.
	Timeout time.Duration
	// Logger gets the upstream's failures. Nil: none.
	Logger *slog.Logger
	// Health is told whether the upstream answers, whatever it answers. Nil: none.
	Health *Health
	// TracerProvider makes a client span for each call of a request that is traced,
	// which its traceparent then names. Nil: none, and the header stays as it is.
	TracerProvider trace.TracerProvider
}

// NewProxy makes the handler that passes everything on exactly as it came:
// method, escaped path, raw query, header fields but the hop-by-hop ones, body,
// trailers, and the same for the response, 1xx and upgrades included. Nothing is
// added in either direction. Streams, and all whose length nobody knows, are flushed
// as they come; of others what comes within two milliseconds may leave together.
//
// An upstream that cannot be reached is answered with upstream_unreachable, one
// that stays silent with upstream_timeout. A response that breaks off, on either
// side, ends in a panic with http.ErrAbortHandler, so that a truncated stream
// never looks complete. Safe for concurrent use.
func NewProxy(c ProxyConfig) http.Handler {
	p := &proxy{upstream: c.Upstream, logger: c.Logger, health: c.Health}
	if p.logger == nil {
		p.logger = slog.New(slog.DiscardHandler)
	}
	transport := c.Transport
	if transport == nil {
		transport = NewTransport()
	}
	if c.Timeout > 0 {
		transport = &silenceTransport{next: transport, limit: c.Timeout}
	}
	if tracer := tracerOf(c.TracerProvider); tracer != nil {
		transport = &tracedTransport{next: transport, tracer: tracer}
	}
	p.reverse = httputil.ReverseProxy{
		Rewrite:        p.rewrite,
		Transport:      transport,
		FlushInterval:  flushDelay,
		ErrorLog:       plain.Logger(p.logger, slog.LevelWarn),
		BufferPool:     new(copyBuffers),
		ModifyResponse: p.checkResponse,
		ErrorHandler:   p.fail,
	}
	return p
}

type proxy struct {
	upstream *url.URL
	logger   *slog.Logger
	health   *Health
	reverse  httputil.ReverseProxy
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// Present without a value: a response without a Content-Type keeps none,
	// where net/http would guess one from the body.
	w.Header()["Content-Type"] = nil
	out := &proxied{ResponseWriter: w}
	whole := false
	defer func() {
		if !whole && out.begun {
			_ = http.NewResponseController(w).Flush() // half an answer: what there is of it
		}
	}()
	p.reverse.ServeHTTP(out, r)
	whole = true
}

// forwarding are the fields that ReverseProxy removes beyond the hop-by-hop
// ones. They are the client's and pass.
var forwarding = [...]string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"}

func (p *proxy) rewrite(r *httputil.ProxyRequest) {
	in, out := r.In, r.Out
	out.URL = upstreamURL(p.upstream, in.URL)
	out.Host = p.upstream.Host
	for _, name := range forwarding {
		if values := in.Header[name]; values != nil && !namedByConnection(in.Header, name) {
			out.Header[name] = values
		}
	}
	// The same map: net/http fills it when the body has been read, and the
	// transport sends what is in it then.
	out.Trailer = in.Trailer
	switch {
	case out.Body == nil:
	case in.GetBody != nil:
		// Already in memory. Bare, a small one spares the transport a flush of the
		// head, and any one a goroutine of waiting.
		if body, err := in.GetBody(); err == nil {
			out.Body = body
		}
	default:
		out.Body = &inboundBody{ReadCloser: out.Body, done: in.Context().Done()}
	}
}

// namedByConnection reports whether the client made a field hop-by-hop.
func namedByConnection(h http.Header, name string) bool {
	for _, value := range h["Connection"] {
		for field := range strings.SplitSeq(value, ",") {
			if strings.EqualFold(strings.TrimSpace(field), name) {
				return true
			}
		}
	}
	return false
}

// checkResponse refuses what net/http's server would panic about.
func (p *proxy) checkResponse(res *http.Response) error {
	if res.StatusCode < 100 || res.StatusCode > 999 {
		return fmt.Errorf("read upstream response: status %d", res.StatusCode)
	}
	p.health.note(true)
	return nil
}

// fail answers for an upstream that gave no response. The upstream's address and
// what is ours of the error's text stay in the log.
func (p *proxy) fail(w http.ResponseWriter, r *http.Request, err error) {
	inbound, _ := r.Body.(*inboundBody)
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		writeError(w, r, codeTooLarge, "The request body is too large.", "")
	case errors.Is(r.Context().Err(), context.Canceled), inbound != nil && inbound.failed.Load():
		abortResponse(r) // nobody is there to read an answer
	case timedOut(err):
		p.health.note(false)
		p.logger.WarnContext(r.Context(), "upstream timed out", slog.String("error", plain.Error(err)))
		writeError(w, r, codeUpstreamTimeout, "The upstream did not answer in time.", "")
	default:
		p.health.note(false)
		p.logger.WarnContext(r.Context(), "upstream unreachable", slog.String("error", plain.Error(err)))
		writeError(w, r, codeUpstreamUnreachable, "The upstream could not be reached.", "")
	}
}

// timedOut tells an upstream that took the call and stayed silent from one that
// could not be connected to.
func timedOut(err error) bool {
	if errors.Is(err, errUpstreamSilent) || errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return false
	}
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout() && !strings.Contains(err.Error(), "TLS handshake")
}

// upstreamURL is where a request for in goes: the path of in, escaped as the
// client escaped it, after the path of base. Segments that end the one and begin
// the other appear once. Both queries stay as they are, also unparsable ones.
func upstreamURL(base, in *url.URL) *url.URL {
	out := &url.URL{Scheme: base.Scheme, Host: base.Host, RawQuery: in.RawQuery, ForceQuery: in.ForceQuery}
	if base.RawQuery != "" {
		out.RawQuery = strings.TrimSuffix(base.RawQuery+"&"+in.RawQuery, "&")
	}
	raw := joinPaths(rawPath(base), rawPath(in))
	path, err := url.PathUnescape(raw)
	if err != nil { // in.Path was made from it, so it is well-formed
		path, raw = joinPaths(base.Path, in.Path), ""
	}
	out.Path, out.RawPath = path, raw
	if out.EscapedPath() != raw && strings.HasPrefix(raw, "/") && !strings.HasPrefix(raw, "//") {
		out.Opaque = raw // characters that net/url would escape leave as they came
	}
	return out
}

// rawPath is the path as it was written.
func rawPath(u *url.URL) string {
	if u.RawPath != "" {
		if path, err := url.PathUnescape(u.RawPath); err == nil && path == u.Path {
			return u.RawPath
		}
	}
	return u.EscapedPath()
}

// joinPaths puts path after base, the longest run of whole segments that ends
// base and begins path once.
func joinPaths(base, path string) string {
	base = strings.TrimRight(base, "/")
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	// Every candidate begins at a slash of base, the longest first.
	for i := 0; i < len(base); i++ {
		if base[i] != '/' {
			continue
		}
		common := base[i:]
		if rest, ok := strings.CutPrefix(path, common); ok && (rest == "" || rest[0] == '/') {
			return base + rest
		}
	}
	return base + path
}

// inboundBody is the client's body while it is being streamed up. It works
// around golang/go#40747: net/http's server closes the body when the response
// begins, the transport's last read then fails, and the transport closes the
// connection under the response. So the end is remembered and not asked for
// twice, and a read of a closed body waits until the response is through.
type inboundBody struct {
	io.ReadCloser
	done   <-chan struct{} // the end of the request
	ended  atomic.Bool
	failed atomic.Bool // the client broke off
}

func (b *inboundBody) Read(p []byte) (int, error) {
	if b.ended.Load() {
		return 0, io.EOF
	}
	n, err := b.ReadCloser.Read(p)
	switch {
	case err == nil:
	case err == io.EOF:
		b.ended.Store(true)
	case errors.Is(err, http.ErrBodyReadAfterClose) && b.done != nil:
		<-b.done
	default:
		b.failed.Store(true)
	}
	return n, err
}
