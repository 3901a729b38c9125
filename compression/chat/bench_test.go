package chat_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/foldgate/foldgate/compression/chat"
)

// agentBody is a coding agent's history of about size bytes: long tool results
// with escapes, short calls, text in several scripts.
func agentBody(size int) []byte {
	var file strings.Builder
	for line := 0; file.Len() < 4<<10; line++ {
		fmt.Fprintf(&file, "\tif err := walk(%q, %d); err != nil { // größe, 長さ\n", "pkg/tree", line)
	}
	result := string(chat.Quote(nil, file.String()))
	var b strings.Builder
	b.WriteString(`{"model":"m","stream":true,"messages":[{"role":"system","content":"You write code."}`)
	for turn := 0; b.Len() < size; turn++ {
		fmt.Fprintf(&b, `,{"role":"user","content":[{"type":"text","text":"What about step %d?"}]}`, turn)
		fmt.Fprintf(&b, `,{"role":"assistant","content":null,"tool_calls":[{"id":"call_%d","type":"function","function":{"name":"read_file","arguments":"{\"path\":\"pkg/tree/walk_%d.go\"}"}}]}`, turn, turn)
		fmt.Fprintf(&b, `,{"role":"tool","tool_call_id":"call_%d","content":%s}`, turn, result)
	}
	b.WriteString(`],"tools":[{"type":"function","function":{"name":"read_file","parameters":{"type":"object","properties":{"path":{"type":"string"}}}}}],"max_tokens":4096}`)
	return []byte(b.String())
}

var benchSizes = []struct {
	name string
	size int
}{{"64KB", 64 << 10}, {"1MB", 1 << 20}, {"10MB", 10 << 20}}

// BenchmarkEnvelope bounds what every chat request pays.
func BenchmarkEnvelope(b *testing.B) {
	for _, bench := range benchSizes {
		b.Run(bench.name, func(b *testing.B) {
			body := agentBody(bench.size)
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := chat.ReadEnvelope(body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkParse bounds what a request pays that the length gate did not pass:
// the envelope and the messages. The goal is 300 MB/s.
func BenchmarkParse(b *testing.B) {
	for _, bench := range benchSizes {
		b.Run(bench.name, func(b *testing.B) {
			body := agentBody(bench.size)
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				e, err := chat.ReadEnvelope(body)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := chat.Parse(body, e); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkCanonical bounds the chain digest of a whole history. The goal is
// 500 MB/s.
func BenchmarkCanonical(b *testing.B) {
	body := agentBody(1 << 20)
	r := parse(b, string(body))
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	var buf []byte
	for b.Loop() {
		var chain chat.Digest
		for i := range r.Messages {
			buf = r.Canonical(buf[:0], i)
			chain = chat.Extend(chain, chat.MessageDigest(buf))
		}
	}
}

// BenchmarkSplice bounds one replaced run in a large body: a copy.
func BenchmarkSplice(b *testing.B) {
	body := agentBody(1 << 20)
	edits := []chat.Edit{{Span: chat.Span{Start: 1000, End: len(body) / 2}, With: make([]byte, 4096)}}
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := chat.Splice(body, edits); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCuttable bounds the rules of cutting on a history of many calls.
func BenchmarkCuttable(b *testing.B) {
	r := parse(b, string(agentBody(1<<20)))
	b.ReportAllocs()
	for b.Loop() {
		r.Cuttable()
	}
}
