package middleware

import (
	"slices"
	"testing"
	"time"
)

func TestRestingRoutesAreAskedLast(t *testing.T) {
	routes := []SummarizerRoute{{Name: "a"}, {Name: "b"}, {Name: "c"}}
	var r resting
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	want := func(at time.Time, order ...int) {
		t.Helper()
		if got := r.order(routes, at); !slices.Equal(got, order) {
			t.Errorf("after %v: got %v, want %v", at.Sub(now), got, order)
		}
	}
	want(now, 0, 1, 2)
	r.failed("a", now)
	want(now, 0, 1, 2) // once is an accident
	r.failed("a", now)
	r.failed("a", now.Add(time.Second)) // under way at the same time
	want(now.Add(time.Minute-1), 1, 2, 0)
	want(now.Add(time.Minute), 0, 1, 2)
	again := now.Add(2 * time.Minute)
	r.failed("a", again)
	r.failed("c", again)
	r.failed("c", again)
	want(again.Add(time.Minute), 1, 2, 0) // the second time for longer
	want(again.Add(5*time.Minute), 0, 1, 2)
	third := now.Add(time.Hour)
	r.failed("a", third)
	want(third.Add(15*time.Minute-1), 1, 2, 0)
	r.answered("a")
	want(third.Add(time.Second), 0, 1, 2)
	for _, name := range []string{"a", "b", "c", "a", "b", "c"} {
		r.failed(name, third)
	}
	want(third.Add(time.Second), 0, 1, 2) // nothing better: as configured
}

func TestRestIsOfTheRouteThatFailed(t *testing.T) {
	before := []SummarizerRoute{{Name: "a"}, {Name: "b", URL: "http://old"}, {Name: "c"}}
	after := []SummarizerRoute{{Name: "a"}, {Name: "b", URL: "http://new"}, {Name: "d"}}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var r resting
	for _, route := range before {
		r.failed(route.Name, now)
		r.failed(route.Name, now)
	}
	next := r.carried(before, after)
	if got := next.order(after, now.Add(time.Second)); !slices.Equal(got, []int{1, 2, 0}) {
		t.Errorf("got %v: only the unchanged route rests", got)
	}
	next.answered("a")
	if got := r.order(before, now.Add(time.Second)); !slices.Equal(got, []int{0, 1, 2}) {
		t.Errorf("got %v: before the change nothing is different", got)
	}
	if got := next.order(after, now.Add(time.Second)); !slices.Equal(got, []int{0, 1, 2}) {
		t.Errorf("got %v: it answered", got)
	}
}
