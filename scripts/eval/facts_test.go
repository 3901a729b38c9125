package main

import (
	"slices"
	"strings"
	"testing"
)

func TestReadFacts(t *testing.T) {
	t.Parallel()
	got, err := readFacts([]byte(`{"facts":[
		{"value":"alpha","seen":[9,4]},
		{"value":"beta","first":2,"seen":[2,7],"reused_in_tool_call_at":[12,7]},
		{"value":"gamma","first":3,"seen":[3],"reused_by_assistant_at":[5]},
		{"statement":"a line","values":[{"value":"delta","seen":[1]},{"value":"gone","seen":[]}]},
		{"session":"s","first_message":0,"values":[{"slot":"x","value":"epsilon","stated_at":3,"seen":[6,3]}]},
		{"question":"who?","user":"Ann","match":"any","answers":["Bob","Cy"],"evidence":[8,5]},
		{"question":"what?","match":"none","answers":[],"evidence":[]}],
		"recorded_token_count_per_message":[3,4],
		"recorded_compaction":{"first_kept_message":6,"summary":"so"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if want := []literal{{"alpha", 4}, {"delta", 1}, {"epsilon", 3}}; !slices.Equal(got.literals, want) {
		t.Errorf("literals %v, want %v", got.literals, want)
	}
	if len(got.reuses) != 2 || got.reuses[0].first != 2 || !slices.Equal(got.reuses[0].again, []int{7, 12}) || !slices.Equal(got.reuses[1].again, []int{5}) {
		t.Errorf("reuses %v", got.reuses)
	}
	if len(got.questions) != 1 || got.questions[0].first != 5 || got.questions[0].user != "Ann" {
		t.Errorf("questions %v", got.questions)
	}
	if got.firstOld != 6 || got.summary != "so" || !slices.Equal(got.perEach, []int{3, 4}) {
		t.Errorf("got %+v", got)
	}
	if _, err := readFacts([]byte(`{"facts":`)); err == nil {
		t.Error("half a file is taken")
	}
}

func TestAnswered(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		match, text string
		want        bool
	}{
		"all, all there":  {"all", "Bob and Cy", true},
		"all, one there":  {"all", "Bob", false},
		"any, one there":  {"any", "Cy", true},
		"any, none there": {"any", "bob", false},
	} {
		q := question{match: tc.match, answers: []string{"Bob", "Cy"}}
		if got := q.answered(tc.text); got != tc.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

func TestStops(t *testing.T) {
	t.Parallel()
	ten := make([]string, 10)
	for i := range ten {
		ten[i] = "0123456789"
	}
	anywhere := func(int) bool { return true }
	for name, tc := range map[string]struct {
		texts []string
		ends  func(int) bool
		want  []int
	}{
		"even":            {ten, anywhere, []int{3, 4, 5, 6, 7, 8, 9}},
		"moved on, once":  {ten, func(n int) bool { return n%4 == 0 }, []int{4, 8, 10}},
		"one large":       {[]string{"a", strings.Repeat("b", 98), "c"}, anywhere, []int{2}},
		"nowhere but end": {ten, func(int) bool { return false }, []int{10}},
	} {
		if got := stops(tc.texts, tc.ends); !slices.Equal(got, tc.want) {
			t.Errorf("%s: got %v, want %v", name, got, tc.want)
		}
	}
}

func TestNeededAfter(t *testing.T) {
	t.Parallel()
	texts := []string{"alpha", "beta", "-", "alpha again", "-", "alpha and beta", "-"}
	reuses := []reuse{
		{"alpha", 0, []int{3, 5}},
		{"beta", 1, []int{5}},
		{"late", 4, []int{6}},
	}
	for name, tc := range map[string]struct {
		n    int
		want []string
	}{
		"both are used next":         {2, []string{"alpha", "beta"}},
		"not yet said":               {1, []string{"alpha"}},
		"the next use counts":        {4, []string{"alpha", "beta"}},
		"no use is left for any":     {7, nil},
		"said before, and used last": {6, []string{"late"}},
	} {
		if got := neededAfter(tc.n, reuses, texts); !slices.Equal(got, tc.want) {
			t.Errorf("%s: got %v, want %v", name, got, tc.want)
		}
	}
	mentioned := []reuse{{"alpha", 0, []int{5}}} // message 3 mentions it before
	if got := neededAfter(2, mentioned, texts); got != nil {
		t.Errorf("mentioned in between: got %v", got)
	}
}

func TestMeanCountsGroups(t *testing.T) {
	t.Parallel()
	file := func(name string, found, of int) result {
		r := result{file: &file{conversation: conversation{name: name}}}
		r.costs[0].on = score{found, of}
		return r
	}
	got, n := mean([]result{
		file("agent-sre-holmes-002", 0, 2), file("agent-sre-holmes-005", 2, 2), // one group: 0.5
		file("chat", 1, 1), file("empty", 0, 0), file("images-x", 0, 5),
	}, func(r *result) score { return r.costs[0].on })
	if n != 2 || got != 0.75 {
		t.Errorf("got %v of %d, want 0.75 of 2", got, n)
	}
}
