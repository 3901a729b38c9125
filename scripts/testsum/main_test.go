package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestSummary(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, events, want string }{
		{
			name: "a package that passes is one line",
			events: `{"Action":"output","Package":"p","Test":"TestA","Output":"noise\n"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Output":"PASS\n"}
{"Action":"output","Package":"p","Output":"ok  \tp\t0.1s\n"}
{"Action":"pass","Package":"p"}
`,
			want: "ok  \tp\t0.1s\nskipped for want of FOLDGATE_TESTDATA: 0\n",
		},
		{
			name: "skips are counted by their reason",
			events: `{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:1: set FOLDGATE_TESTDATA\n"}
{"Action":"skip","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestB","Output":"=== RUN   TestB\n"}
{"Action":"output","Package":"p","Test":"TestB","Output":"    a_test.go:2: no IPv6 here\n"}
{"Action":"output","Package":"p","Test":"TestB","Output":"--- SKIP: TestB (0.00s)\n"}
{"Action":"skip","Package":"p","Test":"TestB"}
{"Action":"output","Package":"p","Test":"TestC","Output":"    b_test.go:3: no IPv6 here\n"}
{"Action":"skip","Package":"p","Test":"TestC"}
{"Action":"skip","Package":"p","Test":"TestD"}
{"Action":"pass","Package":"p"}
`,
			want: "skipped: 2 in p: no IPv6 here\nskipped: 1 in p: no reason given\nskipped for want of FOLDGATE_TESTDATA: 1\n",
		},
		{
			name: "a failure shows its output and not that of others",
			events: `{"Action":"output","Package":"p","Test":"TestA","Output":"fine\n"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestB","Output":"got 1, want 2\n"}
{"Action":"fail","Package":"p","Test":"TestB"}
{"Action":"output","Package":"p","Output":"FAIL\tp\t0.1s\n"}
{"Action":"fail","Package":"p"}
`,
			want: "got 1, want 2\nFAIL\tp\t0.1s\nfailed: 1\nskipped for want of FOLDGATE_TESTDATA: 0\n",
		},
		{
			name: "a panic shows the test that never ended",
			events: `{"Action":"output","Package":"p","Test":"TestA","Output":"panic: x\n"}
{"Action":"output","Package":"p","Output":"FAIL\tp\t0.1s\n"}
{"Action":"fail","Package":"p"}
`,
			want: "FAIL\tp\t0.1s\npanic: x\nskipped for want of FOLDGATE_TESTDATA: 0\n",
		},
		{
			name: "what does not build, and what is no event",
			events: `{"ImportPath":"p","Action":"build-output","Output":"p.go:1: undefined: x\n"}
{"ImportPath":"p","Action":"build-fail"}
plain text
`,
			want: "p.go:1: undefined: x\nplain text\nskipped for want of FOLDGATE_TESTDATA: 0\n",
		},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			s := newSummary(&out)
			if err := s.read(strings.NewReader(tc.events)); err != nil {
				t.Fatal(err)
			}
			s.finish()
			if out.String() != tc.want {
				t.Errorf("got\n%s\nwant\n%s", out.String(), tc.want)
			}
		})
	}
}
