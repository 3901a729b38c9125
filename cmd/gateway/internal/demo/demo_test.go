package demo_test

import (
	"bytes"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/foldgate/foldgate/cmd/gateway/internal/demo"
)

func TestMain(m *testing.M) {
	// The demo is its process's only client, so it uses the default one.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"))
}

// The demo fails by itself where anything differs from what is promised; here is
// what a reader must find in it.
func TestDemo(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := demo.Run(t.Context(), &out); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, text := range []string{
		"passed through, byte for byte",
		"folded with the summary at hand",
		"the model alone answers 400: context_length_exceeded",
		"superseded after",
		"superseded by a newer attempt",
		"the same, byte for byte",
		"all 16 answered",
	} {
		if !strings.Contains(out.String(), text) {
			t.Errorf("nothing says %q:\n%s", text, out.String())
		}
	}
}
