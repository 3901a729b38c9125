package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// summarizer writes the summaries, in the mode of the moment. It reads of whom it
// is told: a transcript is of one conversation.
type summarizer struct {
	addr   string
	server *http.Server
	ledger *atomic.Pointer[ledger]
	mode   atomic.Pointer[string]
	calls  atomic.Int64
	huge   int64
	sent   atomic.Int64 // bytes of the mode "huge", the most of one call
	served chan struct{}
}

func newSummarizer(at *atomic.Pointer[ledger], huge int64) (*summarizer, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the summarizer: %w", err)
	}
	s := &summarizer{addr: l.Addr().String(), ledger: at, huge: huge, served: make(chan struct{})}
	s.set("")
	s.server = &http.Server{Handler: s, ReadHeaderTimeout: patience}
	go func() {
		defer close(s.served)
		_ = s.server.Serve(l) // it ends by Close
	}()
	return s, nil
}

func (s *summarizer) set(mode string) { s.mode.Store(&mode) }

func (s *summarizer) close() {
	_ = s.server.Close()
	<-s.served
}

func (s *summarizer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(r.Body)
	if err != nil || r.Method != http.MethodPost {
		return
	}
	mark := anyMark.FindString(string(text))
	if m := foreign(string(text), mark); m != "" {
		s.ledger.Load().isWrong("a transcript of %s holds %s", mark, m)
	}
	if h := r.Header.Get("Authorization"); h != "" {
		s.ledger.Load().isWrong("a route on another origin was sent a caller's credential")
	}
	s.calls.Add(1)
	s.play(w, r, *s.mode.Load(), summaryOf(mark))
}

// summaryOf is a summary that carries the mark of its conversation.
func summaryOf(mark string) string {
	return "In " + mark + " questions were asked about alpha, bravo, charlie and delta, one after another, and each was answered. Nothing is open."
}

func (s *summarizer) play(w http.ResponseWriter, r *http.Request, mode, text string) {
	switch mode {
	case "", "trickle":
		w.Header().Set("Content-Type", "text/event-stream")
		for _, word := range strings.SplitAfter(text, " ") {
			if _, err := io.WriteString(w, delta(word)); err != nil || http.NewResponseController(w).Flush() != nil {
				return
			}
			if mode == "trickle" && !pause(r, 50*time.Millisecond) {
				return
			}
		}
		_, _ = io.WriteString(w, streamEnd)
	case "error":
		http.Error(w, upstreamError, http.StatusInternalServerError)
	case "redirect":
		w.Header().Set("Location", elsewhere)
		w.WriteHeader(http.StatusTemporaryRedirect)
	case "never":
		<-r.Context().Done()
	case "reset":
		reset(w, "")
	case "garbage":
		reset(w, "this is no HTTP\r\n\r\n")
	case "broken":
		raw(w, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\nfff\r\n"+delta(text))
	case "short":
		raw(w, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 100000\r\n\r\n"+delta(text))
	case "huge":
		s.floods(w)
	default:
		http.Error(w, "no such mode", http.StatusNotImplemented)
	}
}

// floods sends text until its reader has had enough.
func (s *summarizer) floods(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream")
	block := delta(strings.Repeat("alpha bravo charlie delta ", 2<<10))
	sent := int64(0)
	for sent < s.huge {
		if _, err := io.WriteString(w, block); err != nil {
			break
		}
		sent += int64(len(block))
	}
	for {
		most := s.sent.Load()
		if sent <= most || s.sent.CompareAndSwap(most, sent) {
			return
		}
	}
}
