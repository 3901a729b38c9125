package clients

import (
	"bytes"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// recordingListener hands out connections that keep the bytes that came.
type recordingListener struct{ net.Listener }

func (l recordingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &recordingConn{Conn: c}, nil
}

// recordingConn keeps what was read since the last take.
type recordingConn struct {
	net.Conn
	mu  sync.Mutex
	got []byte
}

func (c *recordingConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.mu.Lock()
	c.got = append(c.got, p[:n]...)
	c.mu.Unlock()
	return n, err
}

func (c *recordingConn) take() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	got := c.got
	c.got = nil
	return got
}

// request is one request as its bytes came in.
type request struct {
	scenario string
	raw      []byte // head and body, in the framing that was used
	body     []byte // without framing
	method   string
	path     string
}

// hopByHop are the fields that belong to one connection (RFC 9110, 7.6.1), and
// the framing of the body.
var hopByHop = []string{"connection", "keep-alive", "te", "transfer-encoding", "upgrade", "proxy-connection"}

// boundary is what a client makes up anew for each multipart body.
var boundary = regexp.MustCompile(`boundary="?([^";\r\n]+)"?`)

// comparable is what has to be the same, direct and through the gateway: the
// request line, the fields in the order of their names, the body. Names of fields
// have no case in HTTP.
func (r request) comparable() (string, error) {
	head, _, found := bytes.Cut(r.raw, []byte("\r\n\r\n"))
	if !found {
		return "", fmt.Errorf("no end of the head in %q", r.raw)
	}
	lines := strings.Split(string(head), "\r\n")
	var fields []string
	for _, line := range lines[1:] {
		name, value, _ := strings.Cut(line, ":")
		name = strings.ToLower(name)
		if !slices.Contains(hopByHop, name) {
			fields = append(fields, name+": "+strings.TrimSpace(value))
		}
	}
	slices.SortStableFunc(fields, func(a, b string) int {
		x, _, _ := strings.Cut(a, ":")
		y, _, _ := strings.Cut(b, ":")
		return strings.Compare(x, y)
	})
	whole := lines[0] + "\n" + strings.Join(fields, "\n") + "\n\n" + string(r.body)
	if m := boundary.FindStringSubmatch(whole); m != nil {
		whole = strings.ReplaceAll(whole, m[1], "BOUNDARY")
	}
	return whole, nil
}
