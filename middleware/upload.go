package middleware

import (
	"io"
	"net/http"
	"time"
)

// uploadSilence is how long a client may send nothing of a body that is being
// read into memory. Without it a client that stops in the middle would keep its
// share of the memory budget for ever.
const uploadSilence = time.Minute

// uploadRate is how many bytes a second a client must have sent in all, once
// uploadSilence is over. Without it one byte a minute would keep a share of the
// budget that is a hundred thousand times as large, for months.
const uploadRate = 1 << 10

// patientBody is a request body whose reads each have a deadline of their own: a
// slow client is served, a silent one is not, nor one that only seems to send.
// Where the server knows no deadlines it is the body itself.
type patientBody struct {
	io.ReadCloser
	control *http.ResponseController
	began   time.Time
	read    int64
}

func newPatientBody(w http.ResponseWriter, body io.ReadCloser) io.ReadCloser {
	control := http.NewResponseController(w)
	if body == nil || body == http.NoBody || control.SetReadDeadline(time.Time{}) != nil {
		return body
	}
	return &patientBody{ReadCloser: body, control: control, began: time.Now()}
}

func (b *patientBody) Read(p []byte) (int, error) {
	_ = b.control.SetReadDeadline(b.due(time.Now())) // it worked before
	n, err := b.ReadCloser.Read(p)
	b.read += int64(n)
	if err != nil {
		_ = b.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

// due is when the next bytes must have come.
func (b *patientBody) due(now time.Time) time.Time {
	silent := now.Add(uploadSilence)
	slow := b.began.Add(uploadSilence + time.Duration(b.read)*time.Second/uploadRate)
	if slow.Before(silent) {
		return slow
	}
	return silent
}
