package admin

import (
	"log/slog"
	"net/http"

	"github.com/foldgate/foldgate/ownership"
)

// entry is what the audit line of a request says.
type entry struct {
	operation string // empty: no line is written
	key       ownership.Key
	fence     ownership.Fence // that the change is about
	cause     error           // what the store said, where it failed
}

// naming is how the audit calls a request; empty: it is not audited.
type naming func(r *http.Request) string

func always(operation string) naming {
	return func(*http.Request) string { return operation }
}

// unaudited is for what neither changes anything nor shows a conversation's text.
func unaudited(*http.Request) string { return "" }

// step does what a request asks for. It notes in e what the audit is to say.
type step func(w http.ResponseWriter, r *http.Request, e *entry) (result, *problem)

// result is what a step answers with.
type result struct {
	status int
	body   any // encoded as JSON; nil: none
}

// refusing is a step that always refuses.
func refusing(p problem) step {
	return func(http.ResponseWriter, *http.Request, *entry) (result, *problem) { return result{}, &p }
}

// serve runs a step for a request that keeps all rules, writes the audit line,
// refusals included, and then answers: whoever has the answer finds the line.
func (p *plane) serve(name naming, do step, rules ...check) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		e := entry{operation: name(r)}
		// A key that is none is the caller's text, and stays out of the log.
		if key, ok := keyOf(r); ok {
			e.key = key
		}
		var got result
		bad := breach(r, rules)
		if bad == nil {
			got, bad = do(w, r, &e)
		}
		p.audit(r, e, bad)
		switch {
		case bad != nil:
			refuse(w, *bad)
		case got.body == nil:
			w.WriteHeader(got.status)
		default:
			answer(w, got.status, got.body)
		}
	}
}

// audit writes the line of a change, or of text that was read: who, what, and
// how it ended. Nothing in it is the caller's text.
func (p *plane) audit(r *http.Request, e entry, bad *problem) {
	if e.operation == "" {
		return
	}
	outcome := "done"
	if bad != nil {
		outcome = bad.code
	}
	attrs := []slog.Attr{
		slog.String("operation", e.operation),
		slog.String("outcome", outcome),
		slog.String("remote", r.RemoteAddr),
		slog.Bool("token", p.guard.authorized(r)),
		slog.String("conversation", string(e.key)),
		slog.Uint64("generation", uint64(e.fence.Generation)),
		slog.String("attempt", string(e.fence.Attempt)),
	}
	if e.cause != nil && bad != nil && bad.kind == kindServer {
		attrs = append(attrs, slog.String("error", e.cause.Error()))
	}
	p.Logger.LogAttrs(r.Context(), slog.LevelInfo, "admin audit", attrs...)
}
