package middleware

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"
)

// errUpstreamSilent ends a call whose upstream sent nothing for too long.
var errUpstreamSilent = errors.New("middleware: upstream silent for too long")

// silenceTransport ends a call when the upstream has been silent for limit,
// before the head or between two reads of the body. What the client is slow at,
// sending its body or taking the response, is not the upstream's silence.
type silenceTransport struct {
	next  http.RoundTripper
	limit time.Duration
}

// RoundTrip answers errUpstreamSilent when the head did not come in time. A body
// that falls silent later fails with the same error.
func (t *silenceTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(r.Context())
	w := newSilence(t.limit, cancel)
	out := r.WithContext(ctx)
	if r.Body != nil && r.Body != http.NoBody && r.GetBody == nil {
		out.Body = &watchedUpload{ReadCloser: r.Body, silence: w}
	}
	res, err := t.next.RoundTrip(out)
	if err != nil {
		if w.end() {
			err = errUpstreamSilent
		}
		return nil, err
	}
	if res.StatusCode == http.StatusSwitchingProtocols {
		// The connection belongs to another protocol now; its context ends with
		// the request's.
		w.disarm()
		return res, nil
	}
	w.headCame()
	res.Body = &watchedBody{ReadCloser: res.Body, silence: w}
	return res, nil
}

// silence is the clock of one call. It is armed while the upstream is due.
// Arming is two assignments: the timer runs on and looks, when it fires,
// whether it is still meant.
type silence struct {
	limit  time.Duration
	cancel context.CancelCauseFunc

	mu      sync.Mutex
	timer   *time.Timer
	until   time.Time
	armed   bool
	running bool // the timer will fire
	head    bool
	expired bool
	ended   bool
}

func newSilence(limit time.Duration, cancel context.CancelCauseFunc) *silence {
	w := &silence{limit: limit, cancel: cancel}
	w.arm()
	return w
}

func (w *silence) arm() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.armLocked()
}

func (w *silence) armLocked() {
	if w.ended || w.expired {
		return
	}
	w.until, w.armed = time.Now().Add(w.limit), true
	switch {
	case w.running:
	case w.timer == nil:
		w.timer, w.running = time.AfterFunc(w.limit, w.fire), true
	default:
		w.timer.Reset(w.limit)
		w.running = true
	}
}

func (w *silence) disarm() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.armed = false
}

// upload tells that the client is due (it is being read from), or no more.
// After the head, the upload does not matter.
func (w *silence) upload(clientDue bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.head:
	case clientDue:
		w.armed = false
	default:
		w.armLocked()
	}
}

func (w *silence) headCame() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.head, w.armed = true, false
}

func (w *silence) fire() {
	w.mu.Lock()
	w.running = false
	if !w.armed || w.ended {
		w.mu.Unlock()
		return
	}
	if left := time.Until(w.until); left > 0 {
		w.timer.Reset(left)
		w.running = true
		w.mu.Unlock()
		return
	}
	w.expired, w.armed = true, false
	w.mu.Unlock()
	w.cancel(errUpstreamSilent)
}

// end stops the clock for good, frees the context and answers whether the call
// was ended for silence.
func (w *silence) end() bool {
	w.mu.Lock()
	w.ended, w.armed = true, false
	if w.timer != nil {
		w.timer.Stop()
	}
	expired := w.expired
	w.mu.Unlock()
	w.cancel(context.Canceled)
	return expired
}

// hasExpired reports whether the call was ended for silence.
func (w *silence) hasExpired() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.expired
}

// watchedUpload is the client's body on its way up.
type watchedUpload struct {
	io.ReadCloser
	silence *silence
}

func (b *watchedUpload) Read(p []byte) (int, error) {
	b.silence.upload(true)
	defer b.silence.upload(false)
	return b.ReadCloser.Read(p)
}

// watchedBody is the upstream's body on its way down.
type watchedBody struct {
	io.ReadCloser
	silence *silence
}

func (b *watchedBody) Read(p []byte) (int, error) {
	b.silence.arm()
	n, err := b.ReadCloser.Read(p)
	b.silence.disarm()
	if err != nil && err != io.EOF && b.silence.hasExpired() {
		err = errUpstreamSilent
	}
	return n, err
}

func (b *watchedBody) Close() error {
	err := b.ReadCloser.Close()
	b.silence.end()
	return err
}
