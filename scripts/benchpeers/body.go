package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// request is a head and a body as they are sent. It belongs to one connection.
type request struct {
	raw   []byte
	turn  []int // where the running number stands; none: every request is the same
	count int
}

// digits is how long the numbers are that are written into a request.
const digits = 8

// next writes the next number into the request.
func (r *request) next() {
	r.count++
	for _, at := range r.turn {
		copy(r.raw[at:at+digits], fmt.Sprintf("%0*d", digits, r.count))
	}
}

// The places where numbers are written: the same length as the numbers.
const (
	placeConn = "CONNCONN"
	placeTurn = "TURNTURN"
)

// chatRequest is a POST of a body to a target. fields are further header lines.
func chatRequest(conn int, host, path string, fields map[string]string, body []byte) *request {
	var head strings.Builder
	fmt.Fprintf(&head, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAuthorization: Bearer bench-key-0000000001\r\nContent-Length: %d\r\n",
		path, host, len(body))
	for name, value := range fields {
		fmt.Fprintf(&head, "%s: %s\r\n", name, value)
	}
	head.WriteString("\r\n")
	text := head.String() + strings.ReplaceAll(string(body), placeConn, fmt.Sprintf("%0*d", digits, conn))
	r := &request{raw: []byte(text)}
	for at := 0; ; {
		i := strings.Index(text[at:], placeTurn)
		if i < 0 {
			return r
		}
		r.turn = append(r.turn, at+i)
		at += i + digits
	}
}

const chatPath = "/v1/chat/completions"

// message is one of a conversation.
type message struct {
	Role       string `json:"role"`
	Content    string `json:"content"`
	ToolCalls  []any  `json:"tool_calls,omitempty"`
	ToolCallID string `json:"tool_call_id,omitempty"`
}

// chatBody is a chat request of about so many bytes, made of this repository's own
// sources and documents: a system message, then turns. Its first user message
// holds the connection's number, so that each connection leads a conversation of
// its own; end is what it ends with.
func chatBody(model string, size int, stream bool, end ...message) []byte {
	messages := []message{
		{Role: "system", Content: "You help with the sources of a gateway. Answer briefly."},
		{Role: "user", Content: "This is reading group " + placeConn + "."},
	}
	fixed := len(encode(model, stream, append(slices.Clone(messages), end...)))
	text, role := &quotations{}, "assistant"
	for fixed < size {
		room := size - fixed - 40
		m := message{Role: role, Content: text.next(min(room, 2000))}
		if m.Content == "" {
			break
		}
		fixed += len(mustJSON(m)) + 1
		messages = append(messages, m)
		role = map[string]string{"assistant": "user", "user": "assistant"}[role]
	}
	if role == "user" { // an assistant's message came last, so a user's may follow
		return encode(model, stream, append(messages, end...))
	}
	return encode(model, stream, append(messages[:len(messages)-1], end...))
}

func encode(model string, stream bool, messages []message) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, `{"model":%q,"stream":%s,"max_tokens":1024,"messages":`, model, strconv.FormatBool(stream))
	b.Write(mustJSON(messages))
	b.WriteString("}")
	return []byte(b.String())
}

// mustJSON encodes what always can be.
func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// quotations are pieces of the repository's text, one after another; from the
// start again when there is no more, each with a number, so that no two are equal.
type quotations struct{ at, n int }

// next is a piece that takes about so many bytes in JSON; empty where that is too
// little for one.
func (q *quotations) next(size int) string {
	if size < 64 {
		return ""
	}
	text := corpus()
	q.n++
	var piece strings.Builder
	fmt.Fprintf(&piece, "Part %d.\n", q.n)
	for room := size - piece.Len(); room > 0; {
		if q.at >= len(text) {
			q.at = 0
		}
		b := text[q.at]
		cost := 1
		if b == '\n' || b == '"' || b == '\\' || b == '\t' {
			cost = 2
		}
		if room -= cost; room < 0 {
			break
		}
		piece.WriteByte(b)
		q.at++
	}
	return piece.String()
}

// corpus is the text of this repository's Go files and documents, in ASCII.
var corpus = sync.OnceValue(func() string {
	var b strings.Builder
	for _, root := range []string{"docs", "compression", "middleware", "ownership", "redisstore"} {
		_ = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(name) != ".go" && filepath.Ext(name) != ".md" {
				return nil //nolint:nilerr // the folder was read by its owner a moment ago; what is missing is not quoted
			}
			raw, err := os.ReadFile(name) //nolint:gosec // a file of the repository
			if err == nil {
				b.WriteString(plainText(raw))
			}
			return nil
		})
	}
	return b.String()
})

// plainText leaves out what JSON would write in another length.
func plainText(raw []byte) string {
	return strings.Map(func(r rune) rune {
		if r >= 0x7f || r < 0x20 && r != '\n' && r != '\t' || r == '<' || r == '>' || r == '&' {
			return -1
		}
		return r
	}, string(raw))
}
