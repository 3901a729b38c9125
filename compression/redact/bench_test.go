package redact_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/foldgate/foldgate/compression/redact"
)

// BenchmarkClean bounds what every text costs: at least 200 MB/s, no allocation. In
// "kept" every line comes near to a secret: at least 100 MB/s.
func BenchmarkClean(b *testing.B) {
	for name, text := range map[string]string{
		"prose": strings.Repeat("The gateway reads a request once and forwards what fits; the rest is folded. ", 2000),
		"code":  strings.Repeat("func (x *scanner) word(i int) error {\n\tif err := x.read(i + 1); err != nil {\n\t\treturn fmt.Errorf(\"reading %d: %w\", i, err)\n\t}\n", 1200),
		"JSON":  strings.Repeat(`{"id":"550e8400-e29b-41d4-a716-446655440000","state":"running","count":12,"tags":["a","b"]},`, 1500),
		"log":   strings.Repeat("2024-05-15T10:00:00Z INFO http server=web-6d5c7f8b9 status=200 path=/v1/items/42 took=12ms\n", 1500),
		"kept":  strings.Repeat(strings.Join(kept, "\n"), 20),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				redact.Text(text)
			}
		})
	}
}

func BenchmarkFull(b *testing.B) {
	var lines []string
	for _, marked := range gone {
		text, _ := split(marked)
		lines = append(lines, text)
	}
	slices.Sort(lines)
	text := strings.Repeat(strings.Join(lines, "\n"), 20)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		redact.Text(text)
	}
}

// worst are shapes that make a careless scanner look at the same bytes again and
// again.
var worst = []string{
	"a", "sk-", "=", "eyJ", "eyJaaaaaaaaaaaaaaaaa-", "eyJ.", "-----BEGIN RSA PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\nA", "-----END PRIVATE KEY-----\n",
	"-", "password=", "password=;a", `password="`, `password=\"`, "password='a\"", `\\\"password\\\":`, "token:", "value:", "name:value=", `"`, `\`, "`", ":", "://", "://a:", "://a:b", "@",
	"Bearer ", "bearer a.", "Authorization: ", "Authorization: Bearer ", "Cookie: a=b", "Cookie: ", "<password>", ">", "--password ", "--password a", "curl -u ", "~", "8Q~", "：", "密码：",
	"123456:A", "us", "-us", "atlasv1.", "xoxb-", "AKIA", "SG.", "glpat-.", "ghs_.", "password is ", "identified by '", "password 'a", "[redacted]", "password=[redacted]", "password = a.b.", "x",
	"password=hunter2;", "a_b-c.", "LS0tLS1CRUdJTi", "bot1:", "secret=abcdefgh1jk2;", "\xe3", "\xff", " ", "\n", "*", "**:", "]=", `"]=`,
}

// BenchmarkWorst: nothing is quadratic. Compare 1 with 2: the speed is the same.
func BenchmarkWorst(b *testing.B) {
	for _, piece := range worst {
		for times := 1; times <= 2; times++ {
			text := strings.Repeat(piece, times*(1<<18)/len(piece))
			b.Run(fmt.Sprintf("%q/%d", piece, times), func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					redact.Text(text)
				}
			})
		}
	}
}

// TestWorst runs the same shapes, much longer, so that a quadratic rule makes
// the tests time out.
func TestWorst(t *testing.T) {
	for _, piece := range worst {
		text := strings.Repeat(piece, (1<<20)/len(piece))
		if got := redact.Text(text); len(got) > 3*len(text) {
			t.Errorf("%q: %d bytes became %d", piece, len(text), len(got))
		}
	}
}
