package middleware

import (
	"bufio"
	"bytes"
	"maps"
	"net"
	"net/http"
	"strings"
)

// release sends the head and what is held, and opens the way.
func (h *holder) release() {
	h.state = open
	h.stopTimer()
	if h.pending != nil {
		replaceHeader(h.w.Header(), h.head)
	}
	dropOwnTrailers(h.w.Header())
	if h.o.Head != nil {
		h.o.Head(h.status, h.w.Header())
	}
	h.w.WriteHeader(h.status)
	held := h.held
	h.held, h.parser = nil, nil
	if len(held) > 0 {
		_, _ = h.send(held) // a client that is gone shows at the next write
	}
	if h.timer != nil && !(h.finished && h.length) {
		_ = h.flush() // it has waited long enough
	}
}

// send writes to the client first and shows the observer after. A stream is
// flushed in between.
func (h *holder) send(b []byte) (int, error) {
	n, err := h.w.Write(b)
	h.flushed = false
	if h.stream && err == nil {
		err = h.flush()
	}
	if h.o.Observe != nil && n > 0 {
		h.o.Observe(b[:n], h.stream)
	}
	return n, err
}

// Flush is for handlers that know http.Flusher.
func (h *holder) Flush() { _ = h.FlushError() }

// FlushError flushes what went out. What is held stays.
func (h *holder) FlushError() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.finished {
		return nil
	}
	if h.state == waiting {
		h.writeHeader(http.StatusOK)
	}
	if h.state != open || h.flushed {
		return nil
	}
	return h.flush()
}

func (h *holder) flush() error {
	h.flushed = true
	return http.NewResponseController(h.w).Flush()
}

// Hijack hands the connection over, for upgrades.
func (h *holder) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	conn, rw, err := http.NewResponseController(h.w).Hijack()
	if err == nil {
		h.state = hijacked
		h.status = http.StatusSwitchingProtocols
		h.stopTimer()
	}
	return conn, rw, err
}

// Finish is the end of the handler that used the holder: Inspect sees what is
// held for the last time, and it is released or discarded. Trailers are handed
// on. Later calls do nothing.
func (h *holder) Finish() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.finished {
		return
	}
	if h.state == waiting {
		h.writeHeader(http.StatusOK)
	}
	h.finished = true
	h.stopTimer()
	if h.state == holding {
		if h.inspect(true) == discard {
			h.discard()
			return
		}
		h.release()
	}
	if h.state == open {
		h.passTrailers()
	}
}

// abandon is the end of a handler that broke off: what is held goes out as it
// came, without another look, since half an answer proves nothing.
func (h *holder) abandon() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.finished {
		return
	}
	if h.state == holding {
		h.release()
	}
	h.cut = true
	h.finished = true
	h.stopTimer()
}

// dropOwnTrailers takes our own names out of an upstream's announcement.
func dropOwnTrailers(h http.Header) {
	announced := h["Trailer"]
	if len(announced) == 0 {
		return
	}
	var names []string
	for _, list := range announced {
		for name := range strings.SplitSeq(list, ",") {
			if name = strings.TrimSpace(name); name != "" && !isOwn(name) {
				names = append(names, name)
			}
		}
	}
	if len(names) == 0 {
		delete(h, "Trailer")
		return
	}
	h["Trailer"] = []string{strings.Join(names, ", ")}
}

// passTrailers copies what the handler set after the head: the announced fields
// and those marked with http.TrailerPrefix.
func (h *holder) passTrailers() {
	if h.pending == nil { // they are in w's header already
		for name := range h.w.Header() {
			if after, ok := strings.CutPrefix(name, http.TrailerPrefix); ok && isOwn(after) {
				delete(h.w.Header(), name)
			}
		}
		return
	}
	dst := h.w.Header()
	for name, values := range h.pending {
		if after, ok := strings.CutPrefix(name, http.TrailerPrefix); ok && !isOwn(after) {
			dst[name] = values
		}
	}
	for _, list := range h.head["Trailer"] {
		for name := range strings.SplitSeq(list, ",") {
			name = http.CanonicalHeaderKey(strings.TrimSpace(name))
			if values, ok := h.pending[name]; ok && !isOwn(name) {
				dst[name] = values
			}
		}
	}
}

// Replay sends the discarded answer after all, with its status and fields, for
// the caller whose retry fared no better. Call it after serve. Where the answer
// had to be cut, a stream gets its end mark, and anything else ends in a panic
// with http.ErrAbortHandler, since it must not look complete.
func (h *holder) Replay() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.state != discarded {
		return
	}
	if h.cut && h.stream {
		h.head.Del("Content-Length")
		if !bytes.Contains(h.held, []byte("data: [DONE]")) {
			h.held = append(bytes.TrimRight(h.held, "\r\n"), "\n\n"+streamDone...)
		}
	}
	cut := h.cut && !h.stream
	h.finished = !cut
	h.release()
	h.finished = true
	h.passTrailers()
	if late, ok := h.w.(*lateAnswer); ok {
		late.Finish() // tells a half answer in its own way
		return
	}
	if cut {
		panic(http.ErrAbortHandler)
	}
}

// replaceHeader makes dst hold exactly what src holds.
func replaceHeader(dst, src http.Header) {
	clear(dst)
	maps.Copy(dst, src)
}

// isEventStream reads the media type without its parameters.
func isEventStream(h http.Header) bool {
	values := h["Content-Type"]
	if len(values) == 0 {
		return false
	}
	mediaType, _, _ := strings.Cut(values[0], ";")
	return strings.EqualFold(strings.TrimSpace(mediaType), "text/event-stream")
}
