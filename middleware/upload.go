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

// patientBody is a request body whose reads each have a deadline of their own: a
// slow client is served, a silent one is not. Where the server knows no
// deadlines it is the body itself.
type patientBody struct {
	io.ReadCloser
	control *http.ResponseController
}

func newPatientBody(w http.ResponseWriter, body io.ReadCloser) io.ReadCloser {
	control := http.NewResponseController(w)
	if body == nil || body == http.NoBody || control.SetReadDeadline(time.Time{}) != nil {
		return body
	}
	return &patientBody{ReadCloser: body, control: control}
}

func (b *patientBody) Read(p []byte) (int, error) {
	_ = b.control.SetReadDeadline(time.Now().Add(uploadSilence)) // it worked before
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		_ = b.control.SetReadDeadline(time.Time{})
	}
	return n, err
}
