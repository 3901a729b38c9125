package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// facts is what a file of facts says, sorted by how it is measured.
type facts struct {
	literals  []literal
	reuses    []reuse
	questions []question

	counts   []recordedCount // what a provider billed for the beginning of it
	perEach  []int           // what a client counted for each message
	firstOld int             // the first message that a recorded compaction kept; 0: none
	summary  string          // what that compaction wrote
}

// literal is a string that should still be findable at the end.
type literal struct {
	value string
	first int // the first message that holds it
}

// reuse is an identifier that the recorded agent needed again.
type reuse struct {
	value string
	first int
	again []int // messages that used it again, ascending
}

// question is one whose answer stands in the messages.
type question struct {
	text, user string
	match      string // "all", "any" or "none"
	answers    []string
	first      int
}

// recordedCount is what a provider billed.
type recordedCount struct {
	From   int `json:"first_message"`
	Before int `json:"before_message"` // of messages From to Before
	Answer int `json:"answer_message"` // the same under another name
	Prompt int `json:"prompt_tokens"`
}

// factsFile is a file of facts as it is written.
type factsFile struct {
	Facts      []rawFact       `json:"facts"`
	Counts     []recordedCount `json:"recorded_token_counts"`
	PerMessage []int           `json:"recorded_token_count_per_message"`
	Compaction struct {
		FirstKept int    `json:"first_kept_message"`
		Summary   string `json:"summary"`
	} `json:"recorded_compaction"`
}

// rawFact is a fact of any kind.
type rawFact struct {
	Value       string `json:"value"`
	Seen        []int  `json:"seen"`
	First       *int   `json:"first"`
	ByCall      []int  `json:"reused_in_tool_call_at"`
	ByAssistant []int  `json:"reused_by_assistant_at"`

	Values []struct {
		Value string `json:"value"`
		Seen  []int  `json:"seen"`
	} `json:"values"` // of a statement or a session

	Question string   `json:"question"`
	User     string   `json:"user"`
	Match    string   `json:"match"`
	Answers  []string `json:"answers"`
	Evidence []int    `json:"evidence"`
}

// readFacts sorts the facts of a file. Those without evidence count for nothing.
func readFacts(raw []byte) (facts, error) {
	var in factsFile
	if err := json.Unmarshal(raw, &in); err != nil {
		return facts{}, fmt.Errorf("decode: %w", err)
	}
	out := facts{counts: in.Counts, perEach: in.PerMessage, firstOld: in.Compaction.FirstKept, summary: in.Compaction.Summary}
	for i := range in.Facts {
		f := &in.Facts[i]
		switch again := append(slices.Clone(f.ByCall), f.ByAssistant...); {
		case f.Question != "":
			if f.Match == "none" || len(f.Answers) == 0 || len(f.Evidence) == 0 {
				continue // there is nothing to find
			}
			out.questions = append(out.questions, question{f.Question, f.User, f.Match, f.Answers, slices.Min(f.Evidence)})
		case f.First != nil && len(again) > 0:
			slices.Sort(again)
			out.reuses = append(out.reuses, reuse{f.Value, *f.First, again})
		case f.Value != "" && len(f.Seen) > 0:
			out.literals = append(out.literals, literal{f.Value, slices.Min(f.Seen)})
		}
		for _, v := range f.Values {
			if v.Value != "" && len(v.Seen) > 0 {
				out.literals = append(out.literals, literal{v.Value, slices.Min(v.Seen)})
			}
		}
	}
	return out, nil
}

// answered reports whether a text tells what a question asks for.
func (q question) answered(text string) bool {
	holds := func(a string) bool { return strings.Contains(text, a) }
	if q.match == "any" {
		return slices.ContainsFunc(q.answers, holds)
	}
	return !slices.ContainsFunc(q.answers, func(a string) bool { return !holds(a) })
}

// stops are the lengths, in messages, at which a conversation is stopped to see
// what it needs later: where 30, 40 … 90 % of the bytes of its texts are reached,
// moved on to where a request can end, each once.
func stops(texts []string, ends func(n int) bool) []int {
	total := 0
	for _, t := range texts {
		total += len(t)
	}
	var out []int
	n, sum := 0, 0
	for share := 30; share <= 90; share += 10 {
		for n < len(texts) && (n == 0 || sum*100 < total*share) {
			sum += len(texts[n])
			n++
		}
		at := n
		for at < len(texts) && !ends(at) {
			at++
		}
		if len(out) == 0 || out[len(out)-1] != at {
			out = append(out, at)
		}
	}
	return out
}

// neededAfter are the identifiers that came up in the first n messages, are used
// again after them, and are not mentioned between there and that use.
func neededAfter(n int, reuses []reuse, texts []string) []string {
	var out []string
	for _, r := range reuses {
		i, _ := slices.BinarySearch(r.again, n)
		if r.first >= n || i == len(r.again) {
			continue
		}
		use := min(r.again[i], len(texts))
		mentioned := slices.ContainsFunc(texts[n:max(n, use)], func(t string) bool { return strings.Contains(t, r.value) })
		if !mentioned {
			out = append(out, r.value)
		}
	}
	return out
}
