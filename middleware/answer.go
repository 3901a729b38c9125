package middleware

import (
	"log/slog"
	"net/http"
	"time"
)

// setHead replaces whatever an upstream sent under our names by what we say.
func (x *exchange) setHead(h http.Header) {
	x.lookUpAttempt()
	stripFoldgate(h)
	values := make([]string, 0, 4) // one allocation for all
	set := func(name, value string) {
		values = append(values, value)
		h[name] = values[len(values)-1 : len(values) : len(values)]
	}
	set(headerFold, foldHeader{Kind: x.report.Kind, Reason: x.report.Reason, Retried: x.report.Retried}.String())
	tokens := tokensHeader{Before: int(x.report.Before), After: int(x.report.After), Window: int(x.report.Window), Source: string(x.report.Source)}
	if x.report.Before == 0 {
		tokens.Before, tokens.After = -1, -1
	}
	set(headerTokens, tokens.String())
	if x.key != "" {
		set(headerKey, keyHeader(string(x.key)))
	}
	if x.attempt.Outcome != "" {
		set(headerAttempt, x.attempt.String())
	}
}

// done is called once, however the request ended.
func (x *exchange) done() {
	x.firstForwarding()
	if x.report.Kind == "" {
		x.report.Kind = kindNone // the caller left before there was an answer
	}
	x.report.Total = time.Since(x.start)
	x.report.Joined = x.attempt.Joined
	x.touch()
	x.m.learner.done(x)
	x.traceDone()
	x.m.cfg.Observer.ChatDone(x.report)
	x.log()
}

func (x *exchange) touch() {
	if x.key == "" {
		return
	}
	x.m.recent.Add(x.key, Touched{
		Conversation: x.key, Seen: x.start, Kind: x.report.Kind,
		Before: x.report.Before, After: x.report.After, Covered: x.covered,
	})
}

// log writes the request's one line: ids hashed, nothing of bodies or
// credentials.
func (x *exchange) log() {
	if !x.m.cfg.Logger.Enabled(x.ctx(), slog.LevelInfo) {
		return
	}
	r := &x.report
	attrs := append(make([]slog.Attr, 0, 16),
		slog.String("fold", r.Kind),
		slog.String("reason", r.Reason),
		slog.Int("status", r.Status),
		slog.Int("body_bytes", r.BodyBytes),
		slog.Float64("added_ms", milliseconds(r.Added)),
		slog.Float64("total_ms", milliseconds(r.Total)),
	)
	if r.Status == 0 {
		attrs = append(attrs, slog.Bool("hung_up", true))
	}
	if r.Before > 0 {
		attrs = append(attrs, slog.Int("before", int(r.Before)), slog.Int("after", int(r.After)),
			slog.Int("window", int(r.Window)), slog.String("source", string(r.Source)))
	}
	if x.key != "" {
		attrs = append(attrs, slog.String("conversation", string(x.key)))
	}
	if x.attempt.Outcome != "" {
		attrs = append(attrs, slog.String("attempt", x.attempt.ID), slog.Uint64("generation", x.attempt.Generation),
			slog.String("outcome", x.attempt.Outcome), slog.Bool("joined", x.attempt.Joined), slog.Float64("wait_ms", milliseconds(r.Wait)))
	}
	if r.Retried {
		attrs = append(attrs, slog.Bool("retried", true))
	}
	x.m.cfg.Logger.LogAttrs(x.ctx(), slog.LevelInfo, "chat", attrs...)
}

// milliseconds is a duration as logs show it, to the microsecond.
func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
