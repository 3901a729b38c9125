package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// ledger counts what came of every request of one scenario, and keeps what must
// not have happened. It is safe for concurrent use.
type ledger struct {
	mu       sync.Mutex
	name     string
	requests int
	saw      map[string]int // what callers saw, in a few words, and how often
	lost     []string       // requests without the answer that the fault allows
	wrong    []string       // answers, or forwarded requests, that are not right
	store    []string       // breaches of the store's invariants
	judged   int            // commits that were held against their fence
	sweeps   int            // times that the whole store was looked through
}

func newLedger(name string) *ledger { return &ledger{name: name, saw: map[string]int{}} }

// kept bounds how many breaches of a kind are kept in words.
const kept = 20

func (l *ledger) note(list *[]string, format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := fmt.Sprintf(format, args...)
	if len(*list) >= kept {
		text = "" // counted, not told
	}
	*list = append(*list, text)
}

func (l *ledger) loses(format string, args ...any)    { l.note(&l.lost, format, args...) }
func (l *ledger) isWrong(format string, args ...any)  { l.note(&l.wrong, format, args...) }
func (l *ledger) breaches(format string, args ...any) { l.note(&l.store, format, args...) }

func (l *ledger) answered(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests++
	l.saw[what]++
}

func (l *ledger) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.requests
}

func (l *ledger) has(what string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.saw[what]
}

func (l *ledger) judgedCommit() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.judged++
}

func (l *ledger) judgedCommits() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.judged
}

func (l *ledger) swept() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sweeps++
}

func (l *ledger) sweepCount() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sweeps
}

// told is what callers saw, the most frequent first.
func (l *ledger) told() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	words := slices.SortedFunc(maps.Keys(l.saw), func(a, b string) int {
		return cmp.Or(l.saw[b]-l.saw[a], strings.Compare(a, b))
	})
	var out []string
	for _, w := range words {
		out = append(out, fmt.Sprintf("%s: %d", w, l.saw[w]))
	}
	return strings.Join(out, " · ")
}

// failures are all that must not have happened.
func (l *ledger) failures() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []string
	for what, list := range map[string][]string{"lost": l.lost, "wrong": l.wrong, "store": l.store} {
		for _, text := range list {
			if text != "" {
				out = append(out, l.name+": "+what+": "+text)
			}
		}
		if more := len(list) - kept; more > 0 {
			out = append(out, fmt.Sprintf("%s: %s: and %d more", l.name, what, more))
		}
	}
	slices.Sort(out)
	return out
}
