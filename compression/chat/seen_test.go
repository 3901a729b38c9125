package chat_test

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/foldgate/foldgate/compression/chat"
)

// outcome is all that a reading of a body comes to.
type outcome struct {
	envelope string
	request  *chat.Request
	tails    [][]chat.Message // from some message on
	failed   string
}

// tailsOf parses some of the messages alone: none, one, some, all of them.
func tailsOf(body []byte, e chat.Envelope, n int) (tails [][]chat.Message) {
	if known, _ := e.Known(body); known != n {
		panic(fmt.Sprintf("%d messages are known of %d", known, n))
	}
	for _, span := range [][2]int{{n + 1, n}, {n, n}, {n - 1, n + 1}, {n / 3, n / 2}, {n / 2, n}, {-1, n}} {
		tail, err := chat.ParseSome(body, e, span[0], span[1])
		if err != nil {
			panic(err)
		}
		tails = append(tails, tail)
	}
	return tails
}

func outcomeOf(read func([]byte) (chat.Envelope, error), body []byte) outcome {
	e, err := read(body)
	if err != nil {
		return outcome{failed: err.Error()}
	}
	o := outcome{envelope: shown(e)}
	r, err := chat.Parse(body, e)
	if err != nil {
		o.failed = err.Error()
		return o
	}
	o.tails = tailsOf(body, e, len(r.Messages))
	r.Envelope = chat.Envelope{} // told above
	o.request = r
	return o
}

// shown is what an envelope tells.
func shown(e chat.Envelope) string {
	var b strings.Builder
	v := reflect.ValueOf(e)
	for i := range v.NumField() {
		if f := v.Type().Field(i); f.IsExported() {
			fmt.Fprintf(&b, "%s: %v\n", f.Name, v.Field(i).Interface())
		}
	}
	return b.String()
}

func sameOutcome(t interface{ Fatalf(string, ...any) }, seen *chat.Seen, body []byte) {
	want, got := outcomeOf(chat.ReadEnvelope, body), outcomeOf(seen.ReadEnvelope, body)
	if all := want.tails; len(all) > 0 && !reflect.DeepEqual(all[len(all)-1], append([]chat.Message(nil), want.request.Messages...)) {
		t.Fatalf("body of %d bytes: from the first message on %+v, all of them %+v", len(body), all[len(all)-1], want.request.Messages)
	}
	if !reflect.DeepEqual(want, got) {
		t.Fatalf("body of %d bytes: with memory %+v, without %+v", len(body), got, want)
	}
}

// drawLong draws a body of some blocks: strings of all lengths, with escapes,
// controls of JSON in them, and now and then a field that must not be overlooked.
func drawLong(t *rapid.T) []byte {
	var b strings.Builder
	b.WriteString(`{"model":"m","messages":[`)
	for i := range rapid.IntRange(1, 30).Draw(t, "messages") {
		if i > 0 {
			b.WriteByte(',')
		}
		text := rapid.SampledFrom([]string{"plain ", `\"quoted\" `, `\\`, `\u00e9`, "größe ", `}],"role":`}).Draw(t, "text")
		size := rapid.SampledFrom([]int{0, 20, 63, 64, 65, 500, 9000}).Draw(t, "size")
		fmt.Fprintf(&b, `{"role":"user","content":"%s","x":%d}`, strings.Repeat(text, size/len(text)+1), i)
	}
	b.WriteString(`],"type":"` + strings.Repeat("t", rapid.SampledFrom([]int{1, 100}).Draw(t, "type")) + `"}`)
	return []byte(b.String())
}

// TestSeenProperty: what was seen changes nothing of what a body is read as,
// grown, cut, or damaged anywhere.
func TestSeenProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seen := chat.NewSeen()
		body := drawLong(t)
		sameOutcome(t, seen, body)
		sameOutcome(t, seen, bytes.Clone(body))
		for range rapid.IntRange(1, 6).Draw(t, "turns") {
			next := bytes.Clone(body)
			at := rapid.IntRange(0, len(next)-1).Draw(t, "at")
			switch rapid.IntRange(0, 3).Draw(t, "how") {
			case 0: // the next turn
				end := bytes.LastIndex(next, []byte(`],"type"`))
				if end < 0 {
					continue
				}
				next = append(next[:end:end], append([]byte(`,{"role":"assistant","content":"`+strings.Repeat("more ", 400)+`"}`), next[end:]...)...)
				body = next
			case 1:
				next = next[:at]
			case 2:
				next[at] = rapid.SampledFrom([]byte("\"\\{}[],:x\n\x00")).Draw(t, "byte")
			default:
				next = append(next[:at:at], body[min(len(body), at+rapid.IntRange(1, 9000).Draw(t, "gap")):]...)
			}
			sameOutcome(t, seen, next)
		}
	})
}

// TestSeenForgets: whatever passes through, memory has a bound, and what was
// forgotten is read as before.
func TestSeenForgets(t *testing.T) {
	t.Parallel()
	seen := chat.NewSeen()
	text := strings.Repeat(`"`+strings.Repeat("a", 64)+`",`, 1<<20/67)
	for i := range 300 { // some 300 MiB of different text, all of it strings as short as are kept
		body := fmt.Appendf(nil, `{"n":[%d,%s1],"messages":[]}`, i, text)
		if _, err := seen.ReadEnvelope(body); err != nil {
			t.Fatal(err)
		}
	}
	blocks, leaps := chat.SizeOf(seen)
	if blocks > 1<<15 || leaps > 1<<20 {
		t.Errorf("%d blocks, %d strings are kept", blocks, leaps)
	}
	if leaps < 1<<19 {
		t.Errorf("only %d strings are kept: the test shows nothing", leaps)
	}
	sameOutcome(t, seen, fmt.Appendf(nil, `{"n":[%d,%s1],"messages":[]}`, 0, text))
	sameOutcome(t, seen, fmt.Appendf(nil, `{"n":[%d,%s1],"messages":[]}`, 299, text))
}

// TestSeenAtOnce: turns of one conversation are read at once.
func TestSeenAtOnce(t *testing.T) {
	t.Parallel()
	seen, body := chat.NewSeen(), agentBody(256<<10)
	want := outcomeOf(chat.ReadEnvelope, body)
	var readers sync.WaitGroup
	for range 8 {
		readers.Go(func() {
			for range 20 {
				if got := outcomeOf(seen.ReadEnvelope, body); !reflect.DeepEqual(want, got) {
					t.Error("read in another way")
					return
				}
			}
		})
	}
	readers.Wait()
}

// BenchmarkSeen is a body that was read before, the envelope and the messages:
// what a turn costs that is not new.
func BenchmarkSeen(b *testing.B) {
	for _, bench := range benchSizes {
		b.Run(bench.name, func(b *testing.B) {
			body, seen := agentBody(bench.size), chat.NewSeen()
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				e, err := seen.ReadEnvelope(body)
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
