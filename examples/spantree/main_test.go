package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	root = `{"Name":"POST /v1/chat/completions","SpanContext":{"TraceID":"aa","SpanID":"01"},"Parent":{"TraceID":"aa","SpanID":"99"},
		"StartTime":"2026-01-02T03:04:05Z","EndTime":"2026-01-02T03:04:07Z","Attributes":[{"Key":"foldgate.fold.kind","Value":{"Type":"STRING","Value":"committed"}},
		{"Key":"url.path","Value":{"Type":"STRING","Value":"/v1/chat/completions"}}]}`
	child = `{"Name":"compression.attempt","SpanContext":{"TraceID":"aa","SpanID":"02"},"Parent":{"TraceID":"aa","SpanID":"01"},
		"StartTime":"2026-01-02T03:04:05.5Z","EndTime":"2026-01-02T03:04:06Z","Attributes":[{"Key":"foldgate.generation","Value":{"Type":"INT64","Value":2}}],
		"Events":[{"Name":"claim","Time":"2026-01-02T03:04:05.6Z","Attributes":null}],"Links":[{"SpanContext":{"TraceID":"bb","SpanID":"03"}}]}`
	other = `{"Name":"GET","SpanContext":{"TraceID":"bb","SpanID":"01"},"Parent":{},"StartTime":"2026-01-02T03:04:04Z","EndTime":"2026-01-02T03:04:04Z"}`

	wanted = `trace bb
03:04:04.000   GET 0s
trace aa
03:04:05.000   POST /v1/chat/completions 2s  fold.kind=committed
03:04:05.500     compression.attempt 500ms  generation=2
03:04:05.600       · claim
                   → span 03 of trace bb
`
)

// The spans of two files, one of which is still being written, go together.
func TestSpansBecomeTrees(t *testing.T) {
	t.Parallel()
	a, b := filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")
	for name, content := range map[string]string{a: child + "\n" + other, b: root + "\n" + child[:40]} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{a, b}, wanted},
		{[]string{"-trace", "aa", a, b}, wanted[strings.Index(wanted, "trace aa"):]},
	} {
		var out, problems strings.Builder
		if err := run(tc.args, nil, &out, &problems); err != nil || out.String() != tc.want {
			t.Errorf("%v: got %v %s\n%s\nwant\n%s", tc.args, err, problems.String(), out.String(), tc.want)
		}
	}
}

func TestWhatIsNoSpanIsSaid(t *testing.T) {
	t.Parallel()
	var out, problems strings.Builder
	if err := run(nil, strings.NewReader("nonsense"), &out, &problems); err == nil {
		t.Error("nonsense was taken for spans")
	}
	if err := run([]string{filepath.Join(t.TempDir(), "none")}, nil, &out, &problems); err == nil {
		t.Error("a file that is not there was read")
	}
}
