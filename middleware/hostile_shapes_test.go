//go:build unix

package middleware_test

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/foldgate/foldgate/middleware"
)

// shape is a body that is made to cost more than its length. make makes one of
// about n bytes (a bomb: that decodes to n).
type shape struct {
	name     string
	encoding string
	make     func(n int) []byte
	want     string // the reason, or the kind where there is none
}

// within puts a value into a chat request beside messages that are over the window.
func within(field, value string) []byte {
	return []byte(`{"model":"gpt-test","` + field + `":` + value + `,"messages":[` + ordinaryTalk + `]}`)
}

var ordinaryTalk = func() string {
	var b strings.Builder
	for i := range 60 {
		fmt.Fprintf(&b, `{"role":"user","content":"question %d: %s"},{"role":"assistant","content":"answer %d: %s"},`, i, words("p", i, 60), i, words("q", i, 60))
	}
	return b.String() + `{"role":"user","content":"And now?"}`
}()

// times repeats a piece until it has n bytes.
func times(piece string, n int) string { return strings.Repeat(piece, max(1, n/len(piece))) }

// counted writes pieces that differ until they have n bytes, with commas.
func counted(format string, n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// nested is n bytes of brackets.
func nested(open, end string, n int) string {
	k := max(1, n/(len(open)+len(end)))
	return strings.Repeat(open, k) + "0" + strings.Repeat(end, k)
}

// texts are strings that are dear to somebody who reads them: they stand in an old
// message of the user, in an old tool result and in a call's arguments.
var texts = map[string]string{
	"one letter": "a", "digits": "7", "spaces": " ", "line ends": `\n`, "words": "word ", "lines": `a line of text 1\n`,
	"escapes": `\u0041`, "surrogate halves": `\ud800`, "surrogate pairs": `\ud83d\ude00`, "escaped backslashes": `\\`, "escaped quotes": `\"`,
	"Chinese": "汉", "marks upon marks": "e\u0301\u0301", "invisible": "\u200b", "broken UTF-8": "\xff", "control": `\u0000`,
	"brackets": "[", "braces": "{", "angles": "<", "half marks": "<|", "half marks of another kind": "<｜", "marks": "<|im_start|>", "INST": "[INST",
	"half frames": "[End of the ", "frames": "[End of the summary]", "labels": `\n#1 user`, "record labels": `\n[1] user:`, "number signs": `\n#`,
	"thoughts": "<think>", "thoughts that end": "<think></think>", "half fences": "```", "transcripts": "</transcript",
	"keys": "sk-", "a secret's name": "password=", "assignments": "a=b;", "headers": `Authorization: Bearer \n`, "PEM": `-----BEGIN PRIVATE KEY-----\n`,
	"PEM that ends": `-----BEGIN X-----\nAA\n-----END X-----\n`, "half JWTs": "eyJhbGciOi.", "URLs": "https://a:b@c.d/e?f=g ", "half URLs": "https://a:", "colons": ":", "equals": "=",
	"quotes": "'", "dots": ".", "dashes": "-", "slashes": "/", "paths": "a/b/", "base64": "QUJD/+", "hex": "0x1f", "escapes of a terminal": `\u001b[`, "tabs": `\t`,
	"JSON": `{\"a\":[1,`, "errors": `Error: x\n`, "mails": "a@b.c ", "at signs": "@", "question marks": "?", "commas": "a,", "semicolons": ";",
}

func shapes() []shape {
	out := []shape{
		{"gzip bomb, blanks in a chat", "gzip", func(n int) []byte { return gzipped(within("x", times(" ", n)+"1")) }, ""},
		{"gzip bomb, no chat", "gzip", func(n int) []byte { return gzipped(make([]byte, n)) }, "not-chat"},
		{"gzip bomb beyond the limit", "gzip", func(n int) []byte { return gzipped(make([]byte, n+65<<20)) }, "too-large"},
		{"gzip of many members", "gzip", func(n int) []byte { return bytes.Repeat(gzipped(nil), n/23) }, "not-chat"},
		{"gzip in gzip", "gzip, gzip", func(n int) []byte { return gzipped(gzipped(make([]byte, n))) }, "encoding"},
		{"a hundred codings", times("gzip, ", 600) + "gzip", func(n int) []byte { return gzipped(make([]byte, n)) }, "encoding"},
		{"zstd bomb, no chat", "zstd", func(n int) []byte { return zstdOf(make([]byte, n)) }, "not-chat"},
		{"zstd bomb beyond the limit", "zstd", func(n int) []byte { return zstdOf(make([]byte, n+65<<20)) }, "too-large"},
		{"zstd of many frames", "zstd", func(n int) []byte { return bytes.Repeat(zstdOf([]byte("a")), n/14) }, "not-chat"},
		{"zstd of skippable frames", "zstd", func(n int) []byte { return bytes.Repeat([]byte("\x50\x2a\x4d\x18\x00\x00\x00\x00"), n/8) }, "not-chat"},
		{"zstd that asks for a huge window", "zstd", func(int) []byte { return []byte("\x28\xb5\x2f\xfd\x00\xb8\x01\x00\x00") }, "encoding"},
		{"deflate bomb, no chat", "deflate", func(n int) []byte { return deflated(make([]byte, n)) }, "not-chat"},
		{"deflate that is broken", "deflate", func(n int) []byte { return bytes.Repeat([]byte{0xff}, n) }, "encoding"},

		{"many messages", "", func(n int) []byte {
			return []byte(`{"model":"gpt-test","messages":[` + times(`{"role":"user","content":"a"},`, n) + `{"role":"user","content":"b"}]}`)
		}, "fallback"},
		{"many smallest messages", "", func(n int) []byte {
			return []byte(`{"model":"gpt-test","messages":[` + times(`{"role":"a"},`, n) + `{"role":"user","content":"b"}]}`)
		}, ""},
		{"many messages that differ", "", func(n int) []byte {
			return []byte(`{"model":"gpt-test","messages":[` + counted(`{"role":"user","content":"q%d"}`, n) + `]}`)
		}, "fallback"},
		{"many instructions", "", func(n int) []byte {
			return []byte(`{"model":"gpt-test","messages":[{"role":"user","content":"a"},` + counted(`{"role":"system","content":"rule %d"}`, n) + `,{"role":"user","content":"b"}]}`)
		}, "fallback"},
		{"a head of many", "", func(n int) []byte {
			return []byte(`{"model":"gpt-test","messages":[` + counted(`{"role":"system","content":"rule %d"}`, n) + `,{"role":"user","content":"b"}]}`)
		}, "unfit"},
		{"many empty objects as messages", "", func(n int) []byte {
			return []byte(`{"model":"gpt-test","messages":[` + times(`{},`, n) + `{"role":"user","content":"b"}]}`)
		}, ""},
		{"many tools", "", func(n int) []byte {
			return within("tools", "["+counted(`{"type":"function","function":{"name":"f%d"}}`, n)+"]")
		}, "unfit"},
		{"many parts", "", func(n int) []byte {
			return []byte(`{"model":"gpt-test","messages":[{"role":"user","content":[` + counted(`{"type":"text","text":"p%d"}`, n) + `]},` + ordinaryTalk + `]}`)
		}, "fallback"},
		{"many images", "", func(n int) []byte {
			return []byte(`{"model":"gpt-test","messages":[{"role":"user","content":[` + counted(`{"type":"image_url","image_url":{"url":"https://a/%d"}}`, n) + `]},` + ordinaryTalk + `]}`)
		}, "fallback"},
		{"many parts of the last message", "", func(n int) []byte {
			return []byte(`{"model":"gpt-test","messages":[` + ordinaryTalk + `,{"role":"assistant","content":"a"},{"role":"user","content":[` + counted(`{"type":"text","text":"p%d"}`, n) + `]}]}`)
		}, "unfit"},
		{"many calls of one message", "", func(n int) []byte {
			return []byte(`{"model":"gpt-test","messages":[{"role":"user","content":"a"},{"role":"assistant","content":null,"tool_calls":[` +
				counted(`{"id":"c%d","type":"function","function":{"name":"f","arguments":"{}"}}`, n) + `]},` + ordinaryTalk + `]}`)
		}, "fallback"},
		{"many results of one call", "", func(n int) []byte {
			return []byte(`{"model":"gpt-test","messages":[{"role":"user","content":"a"},{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},` +
				counted(`{"role":"tool","tool_call_id":"c","content":"r%d"}`, n) + `,` + ordinaryTalk + `]}`)
		}, "fallback"},
		{"many calls with results", "", func(n int) []byte {
			return []byte(`{"model":"gpt-test","messages":[{"role":"user","content":"a"},` +
				counted(`{"role":"assistant","content":null,"tool_calls":[{"id":"c%[1]d","type":"function","function":{"name":"f","arguments":"{\"a\":%[1]d}"}}]},{"role":"tool","tool_call_id":"c%[1]d","content":"r%[1]d"}`, n) + `,` + ordinaryTalk + `]}`)
		}, "fallback"},
		{"calls without results", "", func(n int) []byte {
			return []byte(`{"model":"gpt-test","messages":[{"role":"user","content":"a"},` +
				counted(`{"role":"assistant","content":null,"tool_calls":[{"id":"c%d","type":"function","function":{"name":"f","arguments":"{}"}}]}`, n) + `,` + ordinaryTalk + `]}`)
		}, "fallback"},
		{"many keys", "", func(n int) []byte {
			return []byte(`{"model":"gpt-test",` + counted(`"k%d":0`, n) + `,"messages":[` + ordinaryTalk + `]}`)
		}, "fallback"},
		{"one key many times", "", func(n int) []byte {
			return []byte(`{"model":"gpt-test",` + times(`"k":0,`, n) + `"messages":[` + ordinaryTalk + `]}`)
		}, "fallback"},
		{"many keys of a message", "", func(n int) []byte {
			return []byte(`{"model":"gpt-test","messages":[{"role":"user","content":"a",` + counted(`"k%d":0`, n) + `},` + ordinaryTalk + `]}`)
		}, ""},
		{"many keys in arguments", "", func(n int) []byte {
			return []byte(`{"model":"gpt-test","messages":[{"role":"user","content":"a"},{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{` +
				counted(`\"k%d\":\"v\"`, n) + `}"}}]},{"role":"tool","tool_call_id":"c","content":"r"},` + ordinaryTalk + `]}`)
		}, "fallback"},
		{"a long key", "", func(n int) []byte {
			return []byte(`{"model":"gpt-test","` + times("k", n) + `":0,"messages":[` + ordinaryTalk + `]}`)
		}, "fallback"},
		{"a long model", "", func(n int) []byte {
			return []byte(`{"model":"gpt-` + times("k", n) + `","messages":[` + ordinaryTalk + `]}`)
		}, ""},
		{"a long number", "", func(n int) []byte { return within("seed", times("7", n)) }, "fallback"},
		{"blanks between all", "", func(n int) []byte { return within("seed", times(" \n", n)+"1") }, "fallback"},
		{"a long role", "", func(n int) []byte {
			return []byte(`{"model":"gpt-test","messages":[{"role":"` + times("k", n) + `","content":"a"},` + ordinaryTalk + `]}`)
		}, ""},
		{"long ids and names", "", func(n int) []byte {
			long := times("k", n/4)
			return []byte(`{"model":"gpt-test","messages":[{"role":"user","name":"` + long + `","content":"a"},{"role":"assistant","content":null,"tool_calls":[{"id":"` + long +
				`","type":"function","function":{"name":"` + long + `","arguments":"{}"}}]},{"role":"tool","tool_call_id":"` + long + `","content":"r"},` + ordinaryTalk + `]}`)
		}, "fallback"},
	}
	for field, value := range map[string]func(string) []byte{
		"an unknown field": func(v string) []byte { return within("x", v) },
		"tools":            func(v string) []byte { return within("tools", v) },
		"response_format":  func(v string) []byte { return within("response_format", `{"type":"json_schema","x":`+v+`}`) },
		"messages":         func(v string) []byte { return []byte(`{"model":"gpt-test","messages":` + v + `}`) },
		"a content": func(v string) []byte {
			return []byte(`{"model":"gpt-test","messages":[{"role":"user","content":` + v + `},` + ordinaryTalk + `]}`)
		},
		"a part": func(v string) []byte {
			return []byte(`{"model":"gpt-test","messages":[{"role":"user","content":[{"type":"text","text":"a","x":` + v + `}]},` + ordinaryTalk + `]}`)
		},
		"tool_calls": func(v string) []byte {
			return []byte(`{"model":"gpt-test","messages":[{"role":"user","content":"a"},{"role":"assistant","content":"a","tool_calls":` + v + `},` + ordinaryTalk + `]}`)
		},
		"the whole body": func(v string) []byte { return []byte(v) },
	} {
		out = append(out,
			shape{"deep arrays: " + field, "", func(n int) []byte { return value(nested("[", "]", n)) }, "not-chat"},
			shape{"deep objects: " + field, "", func(n int) []byte { return value(nested(`{"a":`, "}", n)) }, "not-chat"},
			shape{"deep and open: " + field, "", func(n int) []byte { return value(times("[", n)) }, "not-chat"})
	}
	out = append(out, shape{"deep arguments", "", func(n int) []byte {
		return []byte(`{"model":"gpt-test","messages":[{"role":"user","content":"a"},{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"` +
			nested(`{\"a\":`, "}", n) + `"}}]},{"role":"tool","tool_call_id":"c","content":"r"},` + ordinaryTalk + `]}`)
	}, "fallback"})
	for name, piece := range texts {
		out = append(out, shape{"text of " + name, "", func(n int) []byte {
			text := times(piece, n/3)
			arguments := strings.ReplaceAll(strings.ReplaceAll(text, `\`, `\\`), `"`, `\"`)
			return []byte(`{"model":"gpt-test","messages":[{"role":"user","content":"` + text + `"},{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"q\":\"` +
				arguments + `\"}"}}]},{"role":"tool","tool_call_id":"c","content":"` + text + `"},` + ordinaryTalk + `]}`)
		}, "fallback"})
	}
	return out
}

func gzipped(b []byte) []byte {
	return packed(b, func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) })
}

func deflated(b []byte) []byte {
	return packed(b, func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) })
}

func zstdOf(b []byte) []byte {
	return packed(b, func(w io.Writer) io.WriteCloser { zw, _ := zstd.NewWriter(w); return zw })
}

func packed(b []byte, open func(io.Writer) io.WriteCloser) []byte {
	var out bytes.Buffer
	w := open(&out)
	_, _ = w.Write(b)
	_ = w.Close()
	return out.Bytes()
}

// cost is what one request took, the sender and the stub included.
type cost struct {
	size      int
	cpu       time.Duration
	allocated uint64 // bytes
	peak      uint64 // bytes of the heap over what there was before
}

// measure sends one request and tells what it took.
func (g *gateway) measure(t *testing.T, body []byte, encoding string) (answer, cost) {
	t.Helper()
	runtime.GC()
	runtime.GC() // twice: memory that is used again is forgotten, so that all of it is counted
	before := readCost()
	peak, stop := watchHeap()
	header := []string{}
	if encoding != "" {
		header = []string{"Content-Encoding", encoding}
	}
	a := g.post(t, body, header...)
	c := cost{size: len(body), peak: stop(), cpu: 0}
	after := readCost()
	c.cpu, c.allocated = after.cpu-before.cpu, after.allocated-before.allocated
	c.peak -= min(c.peak, peak)
	return a, c
}

func readCost() cost {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return cost{allocated: m.TotalAlloc, cpu: time.Duration(u.Utime.Nano() + u.Stime.Nano())}
}

// watchHeap watches the live heap until stop is called, which tells the most.
func watchHeap() (before uint64, stop func() uint64) {
	heap := func() uint64 {
		s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		metrics.Read(s)
		return s[0].Value.Uint64()
	}
	before = heap()
	done, most := make(chan struct{}), make(chan uint64)
	go func() {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		top := before
		for {
			select {
			case <-tick.C:
				top = max(top, heap())
			case <-done:
				most <- max(top, heap())
				return
			}
		}
	}()
	return before, func() uint64 { close(done); return <-most }
}

// discards is an upstream that keeps nothing.
func discards(t *testing.T) *stub {
	s := &stub{seen: make(chan struct{}, 1)}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		answerOK(w, r, stubCall{})
	}))
	t.Cleanup(s.Close)
	return s
}

// decoderBytes is more than what decoding a content coding takes whatever its length.
// Whether there is a decoder to be used again is chance.
const decoderBytes = 20 << 20

// Nothing that a caller sends costs more than in proportion to its length: for each
// shape, twice the length is at most two and a half times the bytes allocated (a
// clock would say something of the machine), and the answer is the documented one.
// With HOSTILE_MIB=n it measures bodies of n and 2n MiB and prints what
// docs/security.md tells, processor time too; that of a shape includes the sender
// and the upstream, which are in the same process.
func TestHostileShapes(t *testing.T) {
	n := 256 << 10
	mib, err := strconv.Atoi(os.Getenv("HOSTILE_MIB"))
	full := err == nil && mib > 0
	if full {
		n = mib << 20
		defer debug.SetMemoryLimit(debug.SetMemoryLimit(2 << 30))
	} else if testing.Short() || raceEnabled { // whole in "make long"
		n = 64 << 10
	}
	fresh := func(t *testing.T) *gateway {
		g := newGateway(t, options{up: discards(t), config: func(c *middleware.Config) { c.Prepare, c.Wait = false, 0 }})
		g.post(t, within("x", "1")) // what is made once is made
		return g
	}
	g := fresh(t)
	if full {
		t.Log("| shape | bytes | time | peak memory | twice as long: time | peak memory | bytes allocated | answer |")
	}
	for _, s := range shapes() {
		t.Run(s.name, func(t *testing.T) {
			// What does not depend on the length, and that a slice which doubles as it
			// grows may have doubled once more.
			slack := uint64(2<<20 + 4*n)
			if s.encoding != "" {
				slack += decoderBytes
			}
			linear := func(once, twice cost) bool { return twice.allocated <= once.allocated*5/2+slack }
			_, once := g.measure(t, s.make(n), s.encoding)
			a, twice := g.measure(t, s.make(2*n), s.encoding)
			for range 2 { // the whole process is counted, so others may have had a part in it
				if linear(once, twice) {
					break
				}
				g := fresh(t)
				_, once = g.measure(t, s.make(n), s.encoding)
				a, twice = g.measure(t, s.make(2*n), s.encoding)
			}
			got := a.reason()
			if kind := a.fold(); kind != "none" {
				got = strings.NewReplacer("reused", "fallback", "committed", "fallback").Replace(kind) // the same conversation again, or a quick summary
			}
			// Of more elements than are looked at there is one answer for all shapes.
			many := full && got == "not-chat"
			if s.want != "" && got != s.want && !many || a.status != http.StatusOK && a.fold() != "unfit" {
				t.Errorf("%d %s, want %s", a.status, a.header.Get("Foldgate-Fold"), s.want)
			}
			ratio := float64(twice.allocated) / float64(max(once.allocated, 1))
			if !linear(once, twice) {
				t.Errorf("%d bytes allocated for a body of %d, %d for one of %d", once.allocated, once.size, twice.allocated, twice.size)
			}
			if full {
				t.Logf("| %s | %d | %d ms | %d MiB | %d ms | %d MiB | × %.1f | %d %s |", s.name, once.size, once.cpu.Milliseconds(), once.peak>>20, twice.cpu.Milliseconds(), twice.peak>>20, ratio, a.status, a.header.Get("Foldgate-Fold"))
			}
		})
	}
}
