package middleware_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"mime/multipart"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What stands beside chat completions in the same API passes the whole gateway,
// not only its proxy, byte for byte, and nothing of the gateway shows in it.

// neighbour is one call: what a client sends, and what the server answers.
type neighbour struct {
	name     string
	request  string // head without Host and length
	body     []byte
	response string // head without its length
	answer   []byte
}

func neighbours(t *testing.T) []neighbour {
	t.Helper()
	noise := make([]byte, 300_000) // holds every byte, and is no text
	random := rand.New(rand.NewPCG(9, 9))
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	// Longer than every window here: only a chat request would be folded.
	long := []byte(`{"model":"gpt-test","prompt":"` + strings.Repeat("alpha bravo ", 20_000) + `","messages":[{"role":"user","content":"no chat"}]}`)
	form, kind := multipartOf(t, noise)
	asJSON := "Content-Type: application/json\r\n"
	okJSON := "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX-Request-Id: req_1\r\n"
	return []neighbour{
		{name: "completions", request: "POST /v1/completions HTTP/1.1\r\n" + asJSON, body: long, response: okJSON, answer: []byte(`{"object":"text_completion","choices":[{"text":"ok"}]}`)},
		{
			name: "completions, streamed", request: "POST /v1/completions HTTP/1.1\r\n" + asJSON, body: []byte(`{"model":"gpt-test","prompt":"p","stream":true}`),
			response: "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n", answer: []byte("data: {\"choices\":[{\"text\":\"o\"}]}\n\ndata: [DONE]\n\n"),
		},
		{name: "embeddings", request: "POST /v1/embeddings HTTP/1.1\r\n" + asJSON, body: long, response: okJSON, answer: []byte(`{"object":"list","data":[{"embedding":[0.1,-2e-7]}]}`)},
		{name: "speech", request: "POST /v1/audio/speech HTTP/1.1\r\n" + asJSON, body: []byte(`{"model":"tts","input":"hello"}`), response: "HTTP/1.1 200 OK\r\nContent-Type: audio/mpeg\r\n", answer: noise},
		{name: "transcription", request: "POST /v1/audio/transcriptions HTTP/1.1\r\nContent-Type: " + kind + "\r\n", body: form, response: okJSON, answer: []byte(`{"text":"hello"}`)},
		{name: "file upload", request: "POST /v1/files HTTP/1.1\r\nContent-Type: " + kind + "\r\n", body: form, response: okJSON, answer: []byte(`{"id":"file-1","object":"file"}`)},
		{name: "file download", request: "GET /v1/files/file-1/content HTTP/1.1\r\n", response: "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Disposition: attachment; filename=\"a b.bin\"\r\n", answer: noise},
		{name: "part of a file", request: "GET /v1/files/file-1/content HTTP/1.1\r\nRange: bytes=10-19\r\n", response: "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 10-19/300000\r\nContent-Type: application/octet-stream\r\n", answer: noise[10:20]},
		{name: "file gone", request: "DELETE /v1/files/file-1 HTTP/1.1\r\n", response: okJSON, answer: []byte(`{"id":"file-1","deleted":true}`)},
		{name: "batch", request: "POST /v1/batches HTTP/1.1\r\n" + asJSON, body: []byte(`{"input_file_id":"file-1","endpoint":"/v1/chat/completions","completion_window":"24h"}`), response: okJSON, answer: []byte(`{"id":"batch_1","status":"validating"}`)},
		{name: "batches", request: "GET /v1/batches?limit=2&after=batch_1 HTTP/1.1\r\n", response: okJSON, answer: []byte(`{"object":"list","data":[]}`)},
		{name: "models", request: "GET /v1/models HTTP/1.1\r\n", response: okJSON, answer: []byte(`{"object":"list","data":[{"id":"gpt-test","object":"model","owned_by":"x"}]}`)},
		{name: "one model", request: "GET /v1/models/org%2Fname HTTP/1.1\r\n", response: okJSON, answer: []byte(`{"id":"org/name","object":"model"}`)},
		{name: "responses", request: "POST /v1/responses HTTP/1.1\r\n" + asJSON, body: long, response: okJSON, answer: []byte(`{"object":"response","output":[]}`)},
		{name: "moderations", request: "POST /v1/moderations HTTP/1.1\r\n" + asJSON, body: []byte(`{"input":"x"}`), response: okJSON, answer: []byte(`{"results":[]}`)},
		{name: "stored chats", request: "GET /v1/chat/completions?limit=1 HTTP/1.1\r\n", response: okJSON, answer: []byte(`{"object":"list","data":[]}`)},
		{name: "a chat's messages", request: "GET /v1/chat/completions/chatcmpl-1/messages HTTP/1.1\r\n", response: okJSON, answer: []byte(`{"object":"list","data":[]}`)},
		{name: "refused", request: "POST /v1/embeddings HTTP/1.1\r\n" + asJSON, body: []byte(`{"input":`), response: "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\n", answer: []byte(`{"error":{"message":"maximum context length is 10 tokens","type":"invalid_request_error","code":"context_length_exceeded"}}`)},
	}
}

func multipartOf(t *testing.T, file []byte) (body []byte, contentType string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	if err := w.SetBoundary("a-boundary--that--looks-odd"); err != nil {
		t.Fatal(err)
	}
	if err := w.WriteField("purpose", "user_data"); err != nil {
		t.Fatal(err)
	}
	part, err := w.CreateFormFile("file", `a "quoted" näme.bin`)
	if err == nil {
		_, err = part.Write(file)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), w.FormDataContentType()
}

// rawStub is a server of a gateway that tests write byte by byte.
func rawStub(t *testing.T, f func(head string, c net.Conn, r *bufio.Reader)) *stub {
	t.Helper()
	s := newStub(t, answerOK)
	s.URL = rawUpstream(t, f)
	return s
}

func TestNeighboursPassByteForByte(t *testing.T) {
	for _, n := range neighbours(t) {
		t.Run(n.name, func(t *testing.T) {
			type got struct {
				head string
				body []byte
			}
			seen := make(chan got, 1)
			up := rawStub(t, func(head string, c net.Conn, r *bufio.Reader) {
				body := make([]byte, len(n.body))
				if _, err := io.ReadFull(r, body); err != nil {
					return
				}
				seen <- got{head, body}
				fmt.Fprintf(c, "%sContent-Length: %d\r\n\r\n", n.response, len(n.answer))
				_, _ = c.Write(n.answer)
			})
			g := newGateway(t, options{up: up})
			length := ""
			if n.body != nil {
				length = fmt.Sprintf("Content-Length: %d\r\n", len(n.body))
			}
			c, r := dialGateway(t, g)
			if _, err := io.WriteString(c, n.request+"Host: gateway\r\nAuthorization: Bearer sk-a\r\n"+length+"\r\n"+string(n.body)); err != nil {
				t.Fatal(err)
			}
			res, err := http.ReadResponse(r, nil)
			if err != nil {
				t.Fatal(err)
			}
			answer, err := io.ReadAll(res.Body)
			if err != nil {
				t.Fatal(err)
			}

			at := <-seen
			want := n.request + "Host: " + strings.TrimPrefix(up.URL, "http://") + "\r\nAuthorization: Bearer sk-a\r\n" + length
			if diff := cmp.Diff(fieldsOf(want), fieldsOf(at.head)); diff != "" {
				t.Errorf("head at the server (-want +got):\n%s", diff)
			}
			if !bytes.Equal(at.body, n.body) {
				t.Errorf("the body at the server is not the client's: %d bytes of %d", len(at.body), len(n.body))
			}
			head := fmt.Sprintf("HTTP/1.1 %s\r\n", res.Status)
			for name, values := range res.Header {
				for _, v := range values {
					if name != "Date" { // the raw server sends none, so net/http does
						head += name + ": " + v + "\r\n"
					}
				}
			}
			if diff := cmp.Diff(fieldsOf(n.response+fmt.Sprintf("Content-Length: %d\r\n", len(n.answer))), fieldsOf(head)); diff != "" {
				t.Errorf("head of the answer (-want +got):\n%s", diff)
			}
			if !bytes.Equal(answer, n.answer) {
				t.Errorf("the answer is not the server's: %d bytes of %d", len(answer), len(n.answer))
			}
			if n := g.store.calls.Load(); n != 0 {
				t.Errorf("%d calls of the store for what is no chat request", n)
			}
		})
	}
}

// fieldsOf are the lines of a head, without order.
func fieldsOf(head string) map[string]int {
	lines := map[string]int{}
	for line := range strings.SplitSeq(strings.TrimSpace(head), "\r\n") {
		lines[line]++
	}
	return lines
}

func dialGateway(t *testing.T, g *gateway) (*net.TCPConn, *bufio.Reader) {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(g.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c.(*net.TCPConn), bufio.NewReader(c)
}

// A realtime connection is a pipe once it is upgraded: both ways, any bytes, and
// each side may be done before the other.
func TestRealtimeUpgradeIsAPipe(t *testing.T) {
	const upgrade = "GET /v1/realtime?model=gpt-realtime HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: realtime, openai-beta.realtime-v1\r\n\r\n"
	heads, ended := make(chan string, 1), make(chan int64, 1)
	up := rawStub(t, func(head string, c net.Conn, r *bufio.Reader) {
		heads <- head
		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\nSec-WebSocket-Protocol: realtime\r\n\r\n")
		_, _ = io.WriteString(c, "\x81\x05first") // the server speaks before it is spoken to
		n, _ := io.Copy(c, r)                     // echoes until the client is done
		ended <- n
		_, _ = io.WriteString(c, "and the rest") // what comes after the client's end still arrives
	})
	g := newGateway(t, options{up: up})
	c, r := dialGateway(t, g)
	if _, err := io.WriteString(c, upgrade); err != nil {
		t.Fatal(err)
	}
	head, err := readHead(r)
	if err != nil || !strings.HasPrefix(head, "HTTP/1.1 101 ") || !strings.Contains(head, "Sec-Websocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n") || !strings.Contains(head, "Sec-Websocket-Protocol: realtime\r\n") {
		t.Fatalf("got %q, %v", head, err)
	}
	if strings.Contains(head, "Foldgate") {
		t.Errorf("the gateway shows in %q", head)
	}
	asked := <-heads
	for _, want := range []string{"GET /v1/realtime?model=gpt-realtime HTTP/1.1\r\n", "Upgrade: websocket\r\n", "Connection: Upgrade\r\n", "Sec-Websocket-Protocol: realtime, openai-beta.realtime-v1\r\n"} {
		if !strings.Contains(asked, want) {
			t.Errorf("the server was asked %q, without %q", asked, want)
		}
	}
	frames := bytes.Repeat([]byte{0x82, 0xfe, 0x00, 0xff, '\r', '\n', '\r', '\n'}, 20_000)
	go func() {
		_, _ = c.Write(frames)
		_ = c.CloseWrite() // done, and still listening
	}()
	got, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if want := "\x81\x05first" + string(frames) + "and the rest"; string(got) != want {
		t.Errorf("%d bytes came back, want %d: it begins %.40q and ends %.40q", len(got), len(want), got, got[max(0, len(got)-40):])
	}
	if n := <-ended; n != int64(len(frames)) {
		t.Errorf("the server got %d bytes of %d", n, len(frames))
	}
}

// Where the server is done first, the client may still send.
func TestRealtimeServerIsDoneFirst(t *testing.T) {
	got := make(chan string, 1)
	up := rawStub(t, func(_ string, c net.Conn, r *bufio.Reader) {
		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nbye")
		_ = c.(*net.TCPConn).CloseWrite()
		rest, _ := io.ReadAll(r)
		got <- string(rest)
	})
	g := newGateway(t, options{up: up})
	c, r := dialGateway(t, g)
	if _, err := io.WriteString(c, "GET /v1/realtime HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := readHead(r); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(r); err != nil || string(rest) != "bye" {
		t.Fatalf("got %q, %v", rest, err)
	}
	_, _ = io.WriteString(c, "last words")
	_ = c.CloseWrite()
	if words := <-got; words != "last words" {
		t.Errorf("the server got %q", words)
	}
}
