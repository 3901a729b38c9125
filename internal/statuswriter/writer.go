package statuswriter

import (
	"bufio"
	"net"
	"net/http"
)

// Writer is a ResponseWriter that notes the status. Like the one below, it is for
// one goroutine at a time. What it does not do itself http.ResponseController finds
// below it.
type Writer struct {
	http.ResponseWriter

	status int
}

// New puts a Writer before w.
func New(w http.ResponseWriter) *Writer { return &Writer{ResponseWriter: w} }

// Status is the status of the response; 0 while there is none.
func (w *Writer) Status() int { return w.status }

// Unwrap is for http.ResponseController.
func (w *Writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader notes the first status that is final.
func (w *Writer) WriteHeader(status int) {
	if w.status == 0 && (status >= http.StatusOK || status == http.StatusSwitchingProtocols) {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write notes a 200 where no status was written.
func (w *Writer) Write(b []byte) (int, error) {
	w.implied()
	return w.ResponseWriter.Write(b)
}

// Flush is for handlers that know http.Flusher.
func (w *Writer) Flush() { _ = w.FlushError() }

// FlushError sends what was written, the head first.
func (w *Writer) FlushError() error {
	w.implied()
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Hijack hands the connection over, which is how an upgrade ends.
func (w *Writer) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err == nil && w.status == 0 {
		w.status = http.StatusSwitchingProtocols
	}
	return conn, rw, err
}

func (w *Writer) implied() {
	if w.status == 0 {
		w.status = http.StatusOK
	}
}
