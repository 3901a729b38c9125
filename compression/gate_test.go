package compression_test

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/foldgate/foldgate/compression"
	"github.com/foldgate/foldgate/compression/window"
)

// picture is a part of about size bytes that costs few tokens.
func picture(size int) string {
	return `{"type":"image_url","image_url":{"url":"data:image/png;base64,` + strings.Repeat("iVBO", size/4) + `","detail":"low"}}`
}

func content(role, more string, parts ...string) string {
	return fmt.Sprintf(`{"role":%q%s,"content":[%s]}`, role, more, strings.Join(parts, ","))
}

func textPart(s string) string { return `{"type":"text","text":` + quote(s) + `}` }

// bytesOf is a budget with plenty of tokens and a limit of bytes.
func bytesOf(n int) window.Budget {
	b := budget(1 << 20)
	b.Bytes = int64(n)
	return b
}

// hermes-agent#89286, #47339, #89938, #92699: a body of few tokens that is too
// long in bytes.
func TestGateKeepsTheLimitOfBytes(t *testing.T) {
	shot := func(id string) string {
		return content("tool", fmt.Sprintf(`,"tool_call_id":%q`, id), textPart("shot "+id), picture(300<<10))
	}
	rounds := []string{said("user", "watch the page")}
	for i := range 4 {
		id := fmt.Sprint("c", i)
		rounds = append(rounds, called(`{}`, id), shot(id))
	}
	album := content("user", "", textPart("compare these"), picture(100<<10), picture(100<<10), picture(100<<10))
	long := words(1, 20_000)
	cases := []struct {
		name  string
		body  string
		limit int
		media int  // pictures that stay
		fits  bool // within the limit
		same  []int
	}{
		{"within it", request(rounds...), 4 << 20, 4, true, []int{0, 2, 4, 6, 8}},
		{"four shots, room for one", request(rounds...), 500 << 10, 1, true, []int{0, 8}},
		{"four shots, room for two", request(rounds...), 700 << 10, 2, true, []int{0, 6, 8}},
		{"not even one", request(rounds...), 100 << 10, 0, true, []int{0}},
		{"parts of the last user message, oldest first", request(album), 250 << 10, 2, true, nil},
		{"the user's go after all others", request(album, called(`{}`, "1"), content("tool", `,"tool_call_id":"1"`, picture(200<<10)), said("assistant", "ok"), album), 550 << 10, 4, true, []int{4}},
		{"those that came after the user's go before them", request(album, called(`{}`, "1"), content("tool", `,"tool_call_id":"1"`, picture(200<<10)), called(`{}`, "2"), content("tool", `,"tool_call_id":"2"`, picture(200<<10))), 550 << 10, 4, true, []int{0, 4}},
		{"the newest stays before the user's older ones", request(album, called(`{}`, "1"), content("tool", `,"tool_call_id":"1"`, picture(100<<10))), 150 << 10, 1, true, []int{2}},
		{"texts when there is nothing else", request(said("user", "go"), called(`{}`, "1"), result("1", long), said("assistant", "and"), said("user", "on")), 40 << 10, 0, true, []int{0, 4}},
		{"the user's own text is too long", request(said("user", long)), 40 << 10, 0, false, []int{0}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			b := bytesOf(c.limit)
			f, err := view(t, c.body).Unfolded(b)
			if err != nil {
				t.Fatal(err)
			}
			if f.Fits != c.fits || c.fits != (len(f.Body) <= c.limit) {
				t.Fatalf("fits %v, %d bytes of %d", f.Fits, len(f.Body), c.limit)
			}
			judge(t, c.body, f, compression.Handoff{}, b)
			if got := bytes.Count(f.Body, []byte(";base64,")); got != c.media {
				t.Errorf("%d pictures stay, want %d", got, c.media)
			}
			was, sent := parse(t, c.body), parse(t, string(f.Body))
			for _, i := range c.same {
				if !bytes.Equal(was.Messages[i].Span.Of(was.Body), sent.Messages[i].Span.Of(sent.Body)) {
					t.Errorf("message %d changed", i)
				}
			}
			again, err := view(t, string(f.Body)).Unfolded(b)
			if err != nil || c.fits && !bytes.Equal(again.Body, f.Body) {
				t.Errorf("what fits changed on the way through: %v", err)
			}
		})
	}
}

// What came last is shrunk last: the older result goes down all levels before the
// newest group is touched at all, for either limit.
func TestGateSparesTheNewestGroup(t *testing.T) {
	old, newest := result("c1", words(1, 3000)), result("c2", words(2, 3000))
	body := request(said("user", "go"), called(`{}`, "c1"), old, called(`{}`, "c2"), newest)
	tokens := budget(1 << 20)
	tokens.Usable = view(t, body).Total() * 6 / 10
	for name, b := range map[string]window.Budget{"tokens": tokens, "bytes": bytesOf(len(body) * 6 / 10)} {
		f, err := view(t, body).Unfolded(b)
		if err != nil || !f.Fits {
			t.Fatalf("%s: fits %v, %v", name, f.Fits, err)
		}
		judge(t, body, f, compression.Handoff{}, b)
		if sent := string(f.Body); strings.Contains(sent, old) || !strings.Contains(sent, newest) {
			t.Errorf("%s: the older result is whole: %v, the newest: %v", name, strings.Contains(sent, old), strings.Contains(sent, newest))
		}
	}
}

// The gate's own sum of bytes is what the body has, whatever it does.
func TestGateCountsBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		body := request(append(messy(t), content("user", "", textPart("see"), picture(4000), picture(2000)))...)
		b := budgetOf(rapid.SampledFrom([]int{800, 5000, 1 << 20}).Draw(t, "window"), 1, 1)
		b.Recall = b.Total / 20
		v := view(t, body)
		h := v.Deterministic(b, settings(), nil)
		open, err := v.Fold(h, b)
		allowed(t, err)
		b.Bytes = int64(len(open.Body))
		same, err := view(t, body).Fold(h, b)
		allowed(t, err)
		if !bytes.Equal(same.Body, open.Body) {
			t.Fatalf("just within %d bytes, and it changed", b.Bytes)
		}
		b.Bytes = int64(rapid.IntRange(1, len(body)+100).Draw(t, "bytes"))
		f, err := view(t, body).Fold(h, b)
		allowed(t, err)
		judge(t, body, f, h, b)
		if within := int64(len(f.Body)) <= b.Bytes; f.Fits != (within && f.Tokens <= b.Usable) {
			t.Fatalf("fits %v with %d bytes of %d and %d tokens of %d", f.Fits, len(f.Body), b.Bytes, f.Tokens, b.Usable)
		}
		if open.Fits && f.Tokens > open.Tokens+64 {
			t.Fatalf("fewer bytes and more tokens: %d, %d", f.Tokens, open.Tokens)
		}
	})
}

var cutNote = regexp.MustCompile(`\[(\d+) of (\d+) bytes left out here to fit the window; this note is not part of the text(; json)?\]`)

// hermes-agent#83714: what was shortened is shortened as the whole of it would
// have been: one note, the count of the whole; and a quoted note protects nothing.
func TestShorteningDoesNotAddUp(t *testing.T) {
	long := words(3, 12_000)
	body := func(text string) string {
		return request(said("user", "go"), called(`{"path":"a.go","content":`+quote(text)+`}`, "1"), result("1", text), said("assistant", "so"), said("user", "on"))
	}
	at := func(body string, total int) compression.Folded {
		t.Helper()
		f, err := view(t, body).Unfolded(budget(total))
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	first := at(body(long), 14_000)
	twice, once := at(string(first.Body), 1200), at(body(long), 1200)
	if first.Shrunk == 0 || bytes.Equal(first.Body, twice.Body) {
		t.Fatal("nothing was shortened, or not again")
	}
	if !bytes.Equal(twice.Body, once.Body) {
		t.Errorf("in two steps %d bytes, in one %d", len(twice.Body), len(once.Body))
	}
	r := parse(t, string(twice.Body))
	for _, text := range []string{r.Text(2), r.Decode(r.Messages[1].Calls[0].Arguments)} {
		if notes := cutNote.FindAllStringSubmatch(text, -1); len(notes) != 1 || notes[0][2] != fmt.Sprint(len(long)) {
			t.Errorf("notes %v of %d bytes", notes, len(long))
		}
	}

	quoting := "It said:\n[5 of 9 bytes left out here to fit the window; this note is not part of the text]\n" + long
	if f := at(body(quoting), 3000); !f.Fits || len(parse(t, string(f.Body)).Text(2)) > len(quoting)/4 {
		t.Errorf("a text that quotes a note is not shortened: %d bytes", len(f.Body))
	}
	// An own note in the middle that another's text follows does not add up either.
	if f := at(body(r.Text(2)+long), 3000); !f.Fits {
		t.Error("a text that begins with a shortened one is not shortened")
	}
}

// The word that a json_object needs stays in a text that is shortened twice.
func TestShorteningTwiceKeepsTheWord(t *testing.T) {
	body := func(text string) string {
		return `{"response_format":{"type":"json_object"},"messages":[` + strings.Join([]string{
			said("user", "go"), called(`{}`, "1"), result("1", text), said("user", "and now?"),
		}, ",") + `]}`
	}
	long := words(1, 6000) + " as JSON " + words(2, 6000)
	first, err := view(t, body(long)).Unfolded(budget(14_000))
	if err != nil || first.Shrunk != 1 {
		t.Fatalf("%v, shrunk %d", err, first.Shrunk)
	}
	second, err := view(t, string(first.Body)).Unfolded(budget(3000))
	if err != nil || !second.Fits {
		t.Fatalf("%v, fits %v", err, second.Fits)
	}
	text := parse(t, string(second.Body)).Text(2)
	if notes := cutNote.FindAllString(text, -1); len(notes) != 1 || !strings.Contains(strings.ToLower(text), "json") {
		t.Errorf("notes %v; the word is there: %v", notes, strings.Contains(strings.ToLower(text), "json"))
	}
}

// Bounds what the gate costs a body of many pictures that is too long in bytes.
func BenchmarkGateBytes(b *testing.B) {
	m := []string{said("user", "watch")}
	for i := range 200 {
		id := fmt.Sprint("c", i)
		m = append(m, called(`{}`, id), content("tool", fmt.Sprintf(`,"tool_call_id":%q`, id), textPart("shot"), picture(50<<10)))
	}
	parts := []string{textPart("all of them")}
	for range 400 {
		parts = append(parts, picture(10<<10))
	}
	body := request(append(m, content("user", "", parts...))...)
	memo := compression.NewMemo(1 << 12)
	budget := bytesOf(2 << 20)
	r := parse(b, body)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		f, err := memo.View(r).Unfolded(budget)
		if err != nil || !f.Fits {
			b.Fatal(err, f.Fits)
		}
	}
}

// A result that carries calls of its own hid which message has calls in flight.
func TestCallsInFlightStayBehindAnOddResult(t *testing.T) {
	last := called(`{"q":`+quote(words(1, 200))+`}`, "c1", "d1")
	odd := `{"role":"tool","tool_call_id":"c1","content":"x","tool_calls":[{"id":"z","function":{"name":"f","arguments":"{}"}}]}`
	body := request(said("user", "go"), last, odd)
	b := budget(300)
	f, err := view(t, body).Unfolded(b)
	allowed(t, err)
	if !strings.Contains(string(f.Body), last) {
		t.Errorf("the calls in flight changed: %s", breaches([]byte(body), f, "", b))
	}
}
