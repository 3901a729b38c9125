package tokens_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/foldgate/foldgate/compression/tokens"
)

// contents are texts of about a megabyte: ordinary ones, which bound the price
// of an exact count, and those that a careless merge takes minutes for.
func contents() []struct {
	name string
	text []byte
} {
	const size = 1 << 20
	source := rand.New(rand.NewPCG(1, 2))
	fill := func(unit string) []byte {
		return []byte(strings.Repeat(unit, size/len(unit)))
	}
	random := func(alphabet []rune) []byte {
		var b strings.Builder
		for b.Len() < size {
			b.WriteRune(alphabet[source.IntN(len(alphabet))])
		}
		return []byte(b.String())
	}
	mixed := func(parts ...string) []byte {
		var b strings.Builder
		for b.Len() < size {
			b.WriteString(parts[source.IntN(len(parts))])
		}
		return []byte(b.String())
	}
	han := make([]rune, 3000)
	for i := range han {
		han[i] = rune(0x4e00 + i*7)
	}
	letters := []rune("abcdefghijklmnopqrstuvwxyz")
	base64 := []rune("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
	return []struct {
		name string
		text []byte
	}{
		{"prose", mixed("The gateway reads the request once, ", "and then it decides.\n\n", "Nothing is written before that; ", "see the notes on recovery. ", "## Heading\n\n- a point\n- another one\n")},
		{"code", mixed("func (c *Counter) Count(text []byte) int {\n", "\tfor i := range text {\n", "\t\tif text[i] != '\\n' {\n\t\t\tcontinue\n\t\t}\n", "\treturn total, fmt.Errorf(\"read %s: %w\", name, err)\n}\n\n")},
		{"json", mixed(`{"id":"a81bc81b-dead-4e5d-abff-90865d1e13b1","ok":true},`, `"created_at":"2026-03-04T05:06:07Z",`, `"values":[1024,2.5,-3e7,null],`, `"sha":"9f86d081884c7d659a2feaa0c55ad015"`)},
		{"chinese", mixed("今天我们讨论一下这个问题的解决方案，", "请先阅读文档。", "系统在处理请求之前会检查长度；", "如果没有足够的空间，就返回错误。\n")},
		{"base64", random(base64)},
		{"digits", random([]rune("0123456789"))},
		{"worst one letter", fill("a")},
		{"worst spaces", fill(" ")},
		{"worst newlines", fill("\n")},
		{"worst underscores", fill("_")},
		{"worst emoji", fill("😀")},
		{"worst random letters", random(letters)},
		{"worst Han", random(han)},
		{"worst marks", fill("\u0301")},
		{"worst blank lines", fill(" \n\t")},
		{"worst invalid", fill("\xff")},
	}
}

// BenchmarkCount bounds an exact count: at least 10 MB/s on ordinary text, at
// least 2 MB/s on the worst.
func BenchmarkCount(b *testing.B) {
	c := tokens.Shared()
	for _, content := range contents() {
		b.Run(content.name, func(b *testing.B) {
			b.SetBytes(int64(len(content.text)))
			b.ReportAllocs()
			for b.Loop() {
				c.Count(content.text)
			}
		})
	}
}

// BenchmarkCountShort bounds what a short message costs.
func BenchmarkCountShort(b *testing.B) {
	c := tokens.Shared()
	text := strings.Repeat("Please look at the log and tell me why it failed. ", 20)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		c.CountString(text)
	}
}

// BenchmarkBounds bounds the estimate: at least 500 MB/s.
func BenchmarkBounds(b *testing.B) {
	for _, content := range contents()[:6] {
		b.Run(content.name, func(b *testing.B) {
			b.SetBytes(int64(len(content.text)))
			for b.Loop() {
				tokens.Bounds(content.text)
			}
		})
	}
}

// BenchmarkNew bounds the start: at most 150 ms.
func BenchmarkNew(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		tokens.New()
	}
}
