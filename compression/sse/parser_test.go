package sse_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/foldgate/foldgate/compression/sse"
)

// event is an Event that outlives the parser's buffer.
type event struct {
	Name, Data         string
	Comment, Oversized bool
}

// parse feeds the chunks and reads each call's events only after the call, as
// the contract of Event.Data allows.
func parse(max int, chunks ...[]byte) []event {
	p := sse.NewParser(max)
	var got []event
	var batch []sse.Event
	emit := func(e sse.Event) { batch = append(batch, e) }
	flush := func() {
		for _, e := range batch {
			got = append(got, event{e.Name, string(e.Data), e.Comment, e.Oversized})
		}
		batch = batch[:0]
	}
	for _, c := range chunks {
		own := slices.Clone(c)
		p.Write(own, emit)
		for i := range own { // the parser must not depend on the chunk any more
			own[i] = '!'
		}
		flush()
	}
	p.Close(emit)
	flush()
	return got
}

// bytewise cuts b into chunks of n bytes.
func bytewise(b []byte, n int) [][]byte {
	return slices.Collect(slices.Chunk(b, n))
}

func TestParserEvents(t *testing.T) {
	const bom = "\xef\xbb\xbf"
	data := func(s ...string) []event {
		var all []event
		for _, d := range s {
			all = append(all, event{Data: d})
		}
		return all
	}
	tests := []struct {
		name, stream string
		max          int
		want         []event
	}{
		{name: "nothing", stream: ""},
		{name: "line feeds", stream: "data: a\n\ndata: b\n\n", want: data("a", "b")},
		{name: "carriage returns", stream: "data: a\r\rdata: b\r\r", want: data("a", "b")},
		{name: "both", stream: "data: a\r\n\r\ndata: b\r\n\r\n", want: data("a", "b")},
		{name: "mixed", stream: "data: a\r\n\ndata: b\n\rdata: c\r\r\n", want: data("a", "b", "c")},
		{name: "without the space", stream: "data:a\n\n", want: data("a")},
		{name: "one space only is dropped", stream: "data:  a \n\n", want: data(" a ")},
		{name: "several data fields", stream: "data: a\ndata:\ndata: b\n\n", want: data("a\n\nb")},
		{name: "data without a colon", stream: "data\n\n", want: data("")},
		{name: "empty data", stream: "data:\n\n", want: data("")},
		{name: "colons in the value", stream: "data:a:b: c\n\n", want: data("a:b: c")},
		{name: "event names", stream: "event: error\ndata: a\n\ndata: b\n\n", want: []event{{Name: "error", Data: "a"}, {Data: "b"}}},
		{name: "last name wins", stream: "event: one\nevent: two\ndata: a\n\n", want: []event{{Name: "two", Data: "a"}}},
		{name: "name after data", stream: "data: a\nevent:two\n\n", want: []event{{Name: "two", Data: "a"}}},
		{name: "no data, no event", stream: "event: ping\n\ndata: a\n\n", want: data("a")},
		{name: "id, retry and unknown", stream: "id: 1\nretry: 5\nfoo\nfoo: bar\nDATA: x\ndatax: y\n data: z\ndata: a\n\n", want: data("a")},
		{name: "comment", stream: ": keep-alive\n\ndata: a\n\n", want: []event{{Comment: true, Data: "keep-alive"}, {Data: "a"}}},
		{name: "bare comment", stream: ":\n", want: []event{{Comment: true}}},
		{name: "comment inside an event", stream: "data: a\n:x\ndata: b\n\n", want: []event{{Comment: true, Data: "x"}, {Data: "a\nb"}}},
		{name: "blank lines first", stream: "\n\r\n\rdata: a\n\n", want: data("a")},
		{name: "byte order mark", stream: bom + "data: a\n\n", want: data("a")},
		{name: "byte order mark before a comment", stream: bom + ":x\n", want: []event{{Comment: true, Data: "x"}}},
		{name: "byte order mark before a blank line", stream: bom + "\ndata: a\n\n", want: data("a")},
		{name: "byte order mark later", stream: "\n" + bom + "data: a\n\n"},
		{name: "two byte order marks", stream: bom + bom + "data: a\n\n"},
		{name: "no blank line at the end", stream: "data: a\n\ndata: [DONE]\n", want: data("a", "[DONE]")},
		{name: "no line end at the end", stream: "data: a\n\nevent: e\ndata: b", want: []event{{Data: "a"}, {Name: "e", Data: "b"}}},
		{name: "ends after the field", stream: "data", want: data("")},
		{name: "ends after the colon", stream: "data:", want: data("")},
		{name: "ends in a name", stream: "event: x", want: nil},
		{name: "ends in a comment", stream: ": x", want: []event{{Comment: true, Data: "x"}}},
		{name: "invalid UTF-8 and NUL", stream: "data: \xff\x00\n\n", want: data("\xff\x00")},
		{name: "at the limit", max: 4, stream: "data: abcd\n\n", want: data("abcd")},
		{name: "over the limit", max: 4, stream: "data: abcde\n\ndata: f\n\n", want: []event{{Oversized: true}, {Data: "f"}}},
		{name: "over the limit by joining", max: 4, stream: "data: ab\ndata: cd\ndata: ef\n\ndata: f\n\n", want: []event{{Oversized: true}, {Data: "f"}}},
		{name: "over the limit with its name", max: 8, stream: "event: big\ndata: abcdef\ndata: g\n\n", want: []event{{Name: "big", Oversized: true}}},
		{name: "over the limit at the end", max: 4, stream: "data: abcde", want: []event{{Oversized: true}}},
		{name: "over the limit by its name", max: 4, stream: "event: abcde\ndata: x\n\ndata: y\n\n", want: []event{{Oversized: true}, {Data: "y"}}},
		{name: "large comment", max: 4, stream: ":abcde\ndata: f\n\n", want: []event{{Comment: true, Oversized: true}, {Data: "f"}}},
		{name: "large ignored fields", max: 4, stream: "id: abcdefgh\nabcdefghijkl\ndata: f\n\n", want: data("f")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, n := range []int{1, 2, 3, 5, 1 << 20} {
				got := parse(tt.max, bytewise([]byte(tt.stream), n)...)
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("in chunks of %d (-want +got):\n%s", n, diff)
				}
			}
		})
	}
}

func TestParserServesAnotherStreamAfterClose(t *testing.T) {
	p := sse.NewParser(0)
	for i, stream := range []string{"\xef\xbb\xbfdata: 0\n\nevent: x\r", "\n\xef\xbb\xbf", "\xef\xbb\xbfdata: 2"} {
		var got []string
		emit := func(e sse.Event) { got = append(got, e.Name+string(e.Data)) }
		p.Write([]byte(stream), emit)
		p.Close(emit)
		want := []string{fmt.Sprint(i)}
		if i == 1 {
			want = nil
		}
		if !slices.Equal(got, want) {
			t.Errorf("stream %d: got %q, want %q", i, got, want)
		}
	}
}

// A parser that is fed an endless line must not grow with it.
func TestParserMemoryIsBounded(t *testing.T) {
	for _, start := range []string{"data: ", "event: ", ": ", "id: ", ""} {
		p := sse.NewParser(1 << 10)
		emit := func(sse.Event) {}
		p.Write([]byte(start), emit)
		chunk := bytes.Repeat([]byte("x"), 1<<9)
		for range 8 {
			p.Write(chunk, emit)
		}
		if n := testing.AllocsPerRun(100, func() { p.Write(chunk, emit) }); n > 0.5 {
			t.Errorf("%q: %v allocations per chunk of an endless line", start, n)
		}
	}
}

func TestDone(t *testing.T) {
	for data, want := range map[string]bool{
		"[DONE]": true, "[DONE] trailing": true, " [DONE]": true,
		"": false, "[DON": false, `{"a":"[DONE]"}`: false, "DONE": false,
	} {
		if got := sse.Done([]byte(data)); got != want {
			t.Errorf("Done(%q) = %v", data, got)
		}
	}
}

func TestCommentIsOneFrame(t *testing.T) {
	if got, want := string(sse.Comment([]byte("x"), "wait 3s")), "x: wait 3s\n\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		got := parse(1<<20, sse.Comment(nil, text))
		want := strings.NewReplacer("\r", " ", "\n", " ").Replace(text)
		if diff := cmp.Diff([]event{{Comment: true, Data: want}}, got); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

// piece draws what streams are made of, so that random streams hit the rules.
var piece = rapid.SampledFrom([]string{
	"\n", "\r", "\r\n", "\n\n", ":", " ", "data", "data:", "data: ", "event:", "event: x", "id: 1", "retry", "a",
	"{\"a\":1}", ": c", "\xef\xbb\xbf", "\xef", "dat", "abcdefghijkl", "[DONE]", "\x00",
})

func TestParserChunkingDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		stream := strings.Join(rapid.SliceOfN(piece, 0, 40).Draw(t, "stream"), "")
		max := rapid.IntRange(1, 30).Draw(t, "max")
		var chunks [][]byte
		for rest := []byte(stream); len(rest) > 0; {
			n := rapid.IntRange(0, len(rest)).Draw(t, "cut")
			chunks, rest = append(chunks, rest[:n]), rest[n:]
			if n == 0 && len(rest) > 0 { // empty chunks too, but not for ever
				chunks, rest = append(chunks, rest[:1]), rest[1:]
			}
		}
		if diff := cmp.Diff(parse(max, []byte(stream)), parse(max, chunks...)); diff != "" {
			t.Fatalf("whole and cut differ (-whole +cut):\n%s", diff)
		}
	})
}

// reference is the standard's algorithm, line by line, without limits.
func reference(stream string) []event {
	stream = strings.TrimPrefix(stream, "\xef\xbb\xbf")
	stream = strings.ReplaceAll(strings.ReplaceAll(stream, "\r\n", "\n"), "\r", "\n")
	var all []event
	var name string
	var data []string
	for _, line := range strings.Split(stream+"\n\n", "\n") {
		key, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			if data != nil {
				all = append(all, event{Name: name, Data: strings.Join(data, "\n")})
			}
			name, data = "", nil
		case key == "":
			all = append(all, event{Comment: true, Data: value})
		case key == "data":
			data = append(data, value)
		case key == "event":
			name = value
		}
	}
	return all
}

func TestParserAgreesWithTheStandard(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		stream := strings.Join(rapid.SliceOfN(piece, 0, 60).Draw(t, "stream"), "")
		if diff := cmp.Diff(reference(stream), parse(0, []byte(stream))); diff != "" {
			t.Fatalf("%q (-want +got):\n%s", stream, diff)
		}
	})
}

func TestParserRecordedStreams(t *testing.T) {
	for name, stream := range recorded(t) {
		t.Run(name, func(t *testing.T) {
			want := reference(string(stream))
			for _, n := range []int{1, 7, 100, 4096, len(stream)} {
				if diff := cmp.Diff(want, parse(0, bytewise(stream, n)...)); diff != "" {
					t.Fatalf("in chunks of %d (-want +got):\n%s", n, diff)
				}
			}
			if last := want[len(want)-1]; last.Name != "error" && !sse.Done([]byte(last.Data)) {
				t.Errorf("the stream ends with %q", last.Data)
			}
		})
	}
}

// recorded reads the streams of the test data folder, or skips.
func recorded(t *testing.T) map[string][]byte {
	t.Helper()
	folder := os.Getenv("FOLDGATE_TESTDATA")
	if folder == "" {
		t.Skip("FOLDGATE_TESTDATA is not set")
	}
	paths, err := filepath.Glob(filepath.Join(folder, "sse", "*.sse"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no recorded streams in %s: %v", folder, err)
	}
	streams := make(map[string][]byte, len(paths))
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		streams[filepath.Base(path)] = b
	}
	return streams
}

func FuzzParser(f *testing.F) {
	for _, s := range []string{
		"data: {\"a\":1}\n\ndata: [DONE]\n\n", "event:error\rdata:x\r\r", "\xef\xbb\xbf: c\r\n\r\ndata\n\n",
		"data: a\ndata: b\r\n\r\n:\n\nid: 1\nretry: 2\n", "data: abcdefgh\n\ndata: x",
	} {
		f.Add([]byte(s), uint8(3), uint8(6))
	}
	f.Fuzz(func(t *testing.T, stream []byte, chunk, max uint8) {
		whole := parse(int(max), stream)
		cut := parse(int(max), bytewise(stream, int(chunk)+1)...)
		if diff := cmp.Diff(whole, cut); diff != "" {
			t.Fatalf("whole and cut differ:\n%s", diff)
		}
		for _, e := range whole {
			if max > 0 && len(e.Name)+len(e.Data) > int(max) {
				t.Fatalf("an event of %d bytes, the limit is %d", len(e.Name)+len(e.Data), max)
			}
		}
		if diff := cmp.Diff(reference(string(stream)), parse(0, stream)); diff != "" {
			t.Fatalf("differs from the standard:\n%s", diff)
		}
	})
}

// BenchmarkParser bounds what watching a stream costs beside forwarding it.
func BenchmarkParser(b *testing.B) {
	frame := []byte(`data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1782321890,"model":"m","choices":[{"index":0,"delta":{"content":" word"},"finish_reason":null}]}` + "\n\n")
	for _, bench := range []struct {
		name  string
		chunk []byte
	}{
		{"frame", frame},
		{"many", bytes.Repeat(frame, 200)},
		{"carriage-returns", bytes.Repeat([]byte("\r"), 32<<10)},
		{"one-large-event", []byte("data: " + strings.Repeat("x", 512<<10) + "\n\n")},
	} {
		b.Run(bench.name, func(b *testing.B) {
			p := sse.NewParser(0)
			emit := func(sse.Event) {}
			b.SetBytes(int64(len(bench.chunk)))
			b.ReportAllocs()
			for b.Loop() {
				p.Write(bench.chunk, emit)
			}
		})
	}
}
