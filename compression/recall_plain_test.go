package compression_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/foldgate/foldgate/compression"
)

// samePlain holds what is recalled against the plain way.
func samePlain(t fataler, v *compression.View, h compression.Handoff, room int) (recalled bool) {
	t.Helper()
	b := recalling(1_000_000, room)
	got, known, counted := v.Recalled(h, b)
	if want := v.PlainRecalled(h, b); got != want {
		t.Fatalf("with %d tokens of room it recalled\n%s\nthe plain way:\n%s", room, got, want)
	}
	if known != counted {
		t.Fatalf("the message with its passages is remembered to cost %d tokens and costs %d", known, counted)
	}
	return got != ""
}

// asked draws a question about what messages say.
func asked(t *rapid.T, m []string) string {
	pieces := []string{rapid.SampledFrom([]string{"", "What of ", "/", " and\n", "続けて", "Ünder ", "\u00a0"}).Draw(t, "begins")}
	for range rapid.IntRange(0, 4).Draw(t, "about") {
		raw := rapid.SampledFrom(m).Draw(t, "message")
		at := rapid.IntRange(0, len(raw)).Draw(t, "at")
		pieces = append(pieces, strings.ToValidUTF8(raw[at:min(len(raw), at+rapid.IntRange(0, 60).Draw(t, "length"))], "?"))
	}
	return strings.Join(append(pieces, rapid.SampledFrom([]string{"", "?", "v1767 lantern", "src/a.go"}).Draw(t, "ends")), " ")
}

// What was remembered of the messages changes nothing: while a conversation grows,
// its covered part too, and whatever is asked, the same is recalled as by reading
// everything anew.
func TestRecallRemembersThePlainWay(t *testing.T) {
	found := 0
	rapid.Check(t, func(t *rapid.T) {
		memo := compression.NewMemo(1 << 10)
		m := messy(t)
		for range rapid.IntRange(1, 4).Draw(t, "turns") {
			m = append(m, said("assistant", "so"), said("user", asked(t, m)))
			all := m
			if rapid.Bool().Draw(t, "rounds") { // the question may be covered, too
				all = append(all, called(`{"q":"x"}`, "in"), result("in", text(t)), called(`{"q":"y"}`, "in"), result("in", text(t)))
			}
			v := memo.View(parse(t, request(all...)))
			for range 2 {
				n := rapid.IntRange(1, v.Len()-1).Draw(t, "covered")
				notes := "NOTES " + strings.Join(strings.Fields(v.Text(v.Head+rapid.IntRange(0, n-1).Draw(t, "told"))), " ")
				if samePlain(t, v, handoffAt(v, n, notes), rapid.SampledFrom([]int{60, 300, 2000}).Draw(t, "room")) {
					found++
				}
			}
			m = append(m, said("assistant", text(t)))
		}
	})
	if found == 0 {
		t.Error("nothing was ever recalled")
	}
}

// Places at which what was remembered might not hold.
func TestRecallRemembersAtTheEdges(t *testing.T) {
	const fact = "The ferry Calypso leaves pier KX-4711 at noon, as ever."
	past := []string{said("user", "Please look up my boat."), said("assistant", fact+" It is red."), said("user", "Thanks."), said("assistant", "Welcome.")}
	for _, begins := range []string{"", "/", "//", "/usr/bin: ", "/\n", " ", "\n", "\n\n", "\u00a0", "\u0301", "'s ", "1", "]", "續"} {
		v := view(t, request(append(past[:4:4], said("user", begins+"When does the ferry leave KX-4711?"))...))
		if !samePlain(t, v, handoffAt(v, 4, "NOTES"), 2000) {
			t.Errorf("a question that begins with %q recalls nothing", begins)
		}
	}
	for _, notes := range []string{fact, fact + " It is red.", "1234567" + fact + " It is red.", "It is red. " + fact} {
		v := view(t, request(append(past[:4:4], said("user", "When does the ferry leave KX-4711?"))...))
		samePlain(t, v, handoffAt(v, 4, notes), 2000)
	}
	memo := compression.NewMemo(1 << 10) // the same run at two places
	for _, before := range [][]string{nil, {said("user", "First.")}} {
		m := append(append(before, said("assistant", words(1, 12_000))), past...)
		v := memo.View(parse(t, request(append(m, said("user", "When does the ferry leave KX-4711?"))...)))
		if !samePlain(t, v, handoffAt(v, len(m), "NOTES"), 2000) {
			t.Error("nothing is recalled of the second run")
		}
	}
}

// The same over more than one run, at places around the ends of runs, with the
// question inside the covered part, and from several requests at once.
func TestRecallRemembersRuns(t *testing.T) {
	m := garden(140, 100)
	memo := compression.NewMemo(1 << 12)
	var group sync.WaitGroup
	for worker := range 4 {
		group.Go(func() {
			for i := range 12 {
				k := 7*i + worker
				ask := fmt.Sprintf("what did question %d say about v%d, and %s?", k, k*37, words(k*3, 5))
				all := append(m[:len(m)-1-2*i:len(m)-1-2*i], said("user", ask), called(`{"q":"x"}`, "in"), result("in", words(k, 90)))
				r, err := parseAny(request(all...))
				if err != nil {
					t.Error(err)
					return
				}
				v := memo.View(r)
				for n := v.Len() - 1; n > 0; n -= 61 {
					b := recalling(1_000_000, 1500)
					h := handoffAt(v, n, "NOTES "+words(k, 40))
					if got, _, _ := v.Recalled(h, b); got != v.PlainRecalled(h, b) {
						t.Errorf("%d covered, question %d: not what the plain way recalls", n, k)
					}
				}
			}
		})
	}
	group.Wait()
}
