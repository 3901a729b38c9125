package plain_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/foldgate/foldgate/internal/plain"
)

func TestText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"dial tcp 127.0.0.1:1: connect: connection refused":                                     "dial tcp 127.0.0.1:1: connect: connection refused",
		`net/http: HTTP/1.x transport connection broken: malformed HTTP response "secret"`:      "net/http: HTTP/1.x transport connection broken: malformed",
		"malformed MIME header line: secret":                                                    "malformed",
		`bad Content-Length "secret"`:                                                           "bad Content-Length",
		`http2: server sent GOAWAY and closed the connection; ErrCode=NO_ERROR, debug="secret"`: "http2: server sent GOAWAY and closed the connection; ErrCode=NO_ERROR, debug",
		`Unsolicited response received on idle HTTP channel starting with "secret"; err=<nil>`:  "Unsolicited response received on idle HTTP channel starting with",
		"": "",
	} {
		if got := plain.Text(text); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
	if plain.Error(nil) != "" || plain.Error(errors.New("EOF")) != "EOF" {
		t.Error("an error is not its text")
	}
}

func TestLogger(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	plain.Logger(slog.New(slog.NewTextHandler(&out, nil)), slog.LevelWarn).Printf("read %q\nand more", "secret")
	if got := out.String(); !strings.Contains(got, "level=WARN msg=read\n") || strings.Contains(got, "secret") {
		t.Errorf("logged %q", got)
	}
}
