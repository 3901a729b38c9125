package middleware

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// dripping is a body of which so many bytes come at a time, and a ResponseWriter
// whose read deadline it keeps.
type dripping struct {
	http.ResponseWriter
	every      time.Duration
	size, left int
	deadline   time.Time
}

func (d *dripping) SetReadDeadline(at time.Time) error {
	d.deadline = at
	return nil
}

func (d *dripping) Read(p []byte) (int, error) {
	if d.left <= 0 {
		return 0, io.EOF
	}
	next := time.Now().Add(d.every)
	if !d.deadline.IsZero() && d.deadline.Before(next) {
		<-time.After(time.Until(d.deadline))
		return 0, os.ErrDeadlineExceeded
	}
	<-time.After(d.every)
	n := min(d.size, d.left, len(p))
	d.left -= n
	return n, nil
}

func (d *dripping) Close() error { return nil }

// A client that sends a byte now and then is not slow: it keeps what others need.
// How long it has follows from what it sent.
func TestABodyMustComeAtSomeRate(t *testing.T) {
	for _, tc := range []struct {
		name  string
		body  dripping
		whole bool
		most  time.Duration
	}{
		{"a byte every fifty seconds", dripping{every: 50 * time.Second, size: 1, left: 1 << 20}, false, 2 * uploadSilence},
		{"a byte a second", dripping{every: time.Second, size: 1, left: 1 << 20}, false, 2 * uploadSilence},
		{"nothing", dripping{every: time.Hour, size: 1, left: 1 << 20}, false, uploadSilence},
		{"slowly, but it comes", dripping{every: 2 * time.Second, size: 4 << 10, left: 1 << 20}, true, time.Hour},
		{"hardly more than it must", dripping{every: 7 * time.Second, size: 8 << 10, left: 1 << 20}, true, time.Hour},
		{"small and late", dripping{every: 50 * time.Second, size: 100, left: 100}, true, uploadSilence},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := tc.body
				d.ResponseWriter = httptest.NewRecorder()
				began := time.Now()
				_, err := io.Copy(io.Discard, newPatientBody(&d, &d))
				if took := time.Since(began); (err == nil) != tc.whole || err != nil && !errors.Is(err, os.ErrDeadlineExceeded) || took > tc.most {
					t.Errorf("%v after %v, %d bytes left", err, took, d.left)
				}
				if !d.deadline.IsZero() {
					t.Errorf("a deadline is left: %v", d.deadline)
				}
			})
		})
	}
}
