package middleware_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/foldgate/foldgate/middleware"
)

// Off is a plain proxy: it neither bounds nor keeps a body.
func TestOffNeitherReadsNorBounds(t *testing.T) {
	g := newGateway(t, options{config: func(c *middleware.Config) {
		c.Mode, c.BodyLimit, c.Memory = middleware.ModeOff, 1000, 1000
	}})
	raw, err := json.Marshal(request(talk("o", 24)))
	if err != nil {
		t.Fatal(err)
	}
	a := g.post(t, raw, "Foldgate-Conversation", "mine")
	got := g.up.last(t)
	if a.status != 200 || !bytes.Equal(got.Body, raw) {
		t.Errorf("got %d, the upstream got %d of %d bytes", a.status, len(got.Body), len(raw))
	}
	if a.fold() != "none" || a.reason() != "mode" || a.header.Get("Foldgate-Tokens") == "" {
		t.Errorf("got %v", a.header)
	}
	for name := range got.Header {
		if strings.HasPrefix(name, "Foldgate") {
			t.Errorf("%s reached the upstream", name)
		}
	}
}
