package middleware

import (
	"bufio"
	"net"
	"net/http"
	"time"
)

// A client has downloadSilence to take downloadPiece of a response, or what was
// written where that is less. Without it a client that stops reading would keep a
// goroutine, an upstream's connection and its share of the memory budget for
// ever. What the kernel's buffers take counts as taken, so that a client which
// reads slowly and steadily, or is held up for longer with a short answer, is
// served.
const (
	downloadSilence = time.Minute
	downloadPiece   = 32 << 10
	// downloadSpare is how far a deadline is set ahead of what is promised, so
	// that it need not be moved for every piece of a stream.
	downloadSpare = 5 * time.Second
)

// patientWriter is a response whose writes have a deadline each. Nothing bounds
// the time between them: a stream may be silent for as long as its upstream is.
// For one goroutine at a time, as every ResponseWriter. It has no ReadFrom, which
// would be one write of unknown length.
type patientWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	// streams: the deadline is one of a stream in a shared connection (HTTP/2),
	// and ends that stream also while nothing is written. Otherwise it ends a
	// write alone, and net/http lifts it behind each response.
	streams  bool
	due      time.Time
	kept     bool // something was written since the last flush
	hijacked bool
}

// newPatientWriter is w itself where the server knows no deadlines, or has a
// WriteTimeout: then whoever runs it has bounded responses as they want them.
// finish belongs behind the last write.
func newPatientWriter(w http.ResponseWriter, r *http.Request) (patient http.ResponseWriter, finish func()) {
	server, _ := r.Context().Value(http.ServerContextKey).(*http.Server)
	control := http.NewResponseController(w)
	if server != nil && server.WriteTimeout > 0 || control.SetWriteDeadline(time.Time{}) != nil {
		return w, func() {}
	}
	p := &patientWriter{ResponseWriter: w, control: control, streams: r.ProtoMajor > 1}
	return p, p.finish
}

// WriteHeader may send: an informational head goes out at once.
func (p *patientWriter) WriteHeader(status int) {
	p.begin()
	defer p.end()
	p.ResponseWriter.WriteHeader(status)
}

// Write writes piece by piece, each within its time.
func (p *patientWriter) Write(b []byte) (int, error) {
	written := 0
	for {
		piece := b[written:min(written+downloadPiece, len(b))]
		n, err := p.write(piece)
		if written += n; err != nil || written == len(b) || n < len(piece) {
			return written, err
		}
	}
}

func (p *patientWriter) write(b []byte) (int, error) {
	p.begin()
	defer p.end()
	p.kept = true
	return p.ResponseWriter.Write(b)
}

// FlushError sends what the server has kept back.
func (p *patientWriter) FlushError() error {
	p.begin()
	defer p.end()
	p.kept = false
	return p.control.Flush()
}

// Flush is for handlers that know http.Flusher.
func (p *patientWriter) Flush() { _ = p.FlushError() }

// Hijack hands the connection over, and its deadlines to whoever has it then.
func (p *patientWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := p.control.Hijack()
	p.hijacked = p.hijacked || err == nil
	return conn, rw, err
}

// Unwrap is for http.ResponseController.
func (p *patientWriter) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// begin sees that what is written now has its time.
func (p *patientWriter) begin() {
	now := time.Now()
	if p.hijacked || p.due.Sub(now) >= downloadSilence {
		return
	}
	p.due = now.Add(downloadSilence + downloadSpare)
	_ = p.control.SetWriteDeadline(p.due) // it worked before
}

// end lifts a deadline that would not wait for a write.
func (p *patientWriter) end() {
	if p.streams && !p.hijacked {
		p.due = time.Time{}
		_ = p.control.SetWriteDeadline(p.due)
	}
}

// finish leaves a deadline for what the server itself writes behind the handler. Of a
// stream, where one that is left could come when it is closed, what is kept back is
// sent now.
func (p *patientWriter) finish() {
	switch {
	case !p.streams:
		p.begin()
	case p.kept:
		_ = p.FlushError()
	}
}
