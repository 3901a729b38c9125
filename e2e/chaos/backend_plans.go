package main

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// play answers by the plan of the request.
func (b *backend) play(w http.ResponseWriter, r *http.Request, stream bool, text string) {
	nonce, mark := r.Header.Get(headNonce), r.Header.Get(headMark)
	switch plan := r.Header.Get(headPlan); plan {
	case "", "trickle":
		if !stream {
			b.json(w, http.StatusOK, whole(text))
			return
		}
		apart := time.Duration(0)
		if plan == "trickle" {
			apart = b.apart
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range pieces {
			if _, err := io.WriteString(w, delta(piece(i, nonce, mark))); err != nil {
				return
			}
			if http.NewResponseController(w).Flush() != nil {
				return
			}
			if apart > 0 && !pause(r, apart) {
				return
			}
		}
		_, _ = io.WriteString(w, streamEnd)
	case "error":
		b.json(w, http.StatusInternalServerError, upstreamError)
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
		b.part(w, stream, text, true)
	case "short":
		b.part(w, stream, text, false)
	case "silent":
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, delta(piece(0, nonce, mark)))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	case "long":
		// More bytes than were announced: what was announced is the answer.
		body := whole(text)
		raw(w, fmt.Sprintf("HTTP/1.1 200 OK\r\n%s: upstream\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s%s", headFrom, len(body), body, "and more"))
	case "huge":
		w.Header().Set("Content-Type", "application/octet-stream")
		block := []byte(strings.Repeat("0123456789abcdef", 4<<10))
		for sent := int64(0); sent < b.huge; sent += int64(len(block)) {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	default:
		b.json(w, http.StatusNotImplemented, upstreamError)
	}
}

const upstreamError = `{"error":{"message":"this model is out of order","type":"server_error","param":null,"code":"scripted"}}`

func (b *backend) json(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

// part sends the first half of an answer. Then the connection is reset, or ends as
// if nothing were missing.
func (b *backend) part(w http.ResponseWriter, stream bool, text string, broken bool) {
	kind, body := "application/json", whole(text)
	if stream {
		kind, body = "text/event-stream", ""
		for _, p := range strings.SplitAfter(text, "] ") {
			body += delta(p)
		}
		body += streamEnd
	}
	head := "HTTP/1.1 200 OK\r\n" + headFrom + ": upstream\r\nContent-Type: " + kind + "\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n"
	if broken {
		head = "HTTP/1.1 200 OK\r\n" + headFrom + ": upstream\r\nContent-Type: " + kind + "\r\nTransfer-Encoding: chunked\r\n\r\n"
		body = fmt.Sprintf("%x\r\n%s", len(body), body)
	}
	conn, err := hijack(w)
	if err != nil {
		return
	}
	_, _ = io.WriteString(conn, head+body[:len(body)/2])
	if broken {
		_ = conn.SetLinger(0)
	}
	_ = conn.Close()
}

// raw writes an answer by hand and ends the connection.
func raw(w http.ResponseWriter, text string) {
	conn, err := hijack(w)
	if err != nil {
		return
	}
	_, _ = io.WriteString(conn, text)
	_ = conn.Close()
}

// reset ends the connection at once.
func reset(w http.ResponseWriter, text string) {
	conn, err := hijack(w)
	if err != nil {
		return
	}
	_, _ = io.WriteString(conn, text)
	if text == "" {
		_ = conn.SetLinger(0)
	}
	_ = conn.Close()
}

// pause waits, and reports whether the caller is still there.
func pause(r *http.Request, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-r.Context().Done():
		return false
	}
}
