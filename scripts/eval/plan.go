package main

import (
	"flag"
	"fmt"
	"sort"

	"github.com/foldgate/foldgate/compression/window"
	"github.com/foldgate/foldgate/middleware"
)

// plan is a budget and its settings.
type plan struct {
	budget   window.Budget
	settings window.Settings
}

// planner makes the plan for a budget of so many tokens.
type planner func(c conversation, n window.Tokens, recalls bool) plan

// shares is one setting for all files, of a budget of which all may be used.
type shares struct {
	keep          float64 // the tail
	deterministic float64 // the handoff, where nothing is recalled
	recall        float64 // the recalled passages
	besideRecall  float64 // the handoff, where passages are recalled
}

// flags are where the setting is written down.
func (s *shares) flags(f *flag.FlagSet) {
	f.Float64Var(&s.keep, "keep-recent", 0.20, "the tail, as a share of the budget")
	f.Float64Var(&s.deterministic, "deterministic", 0.80, "the handoff where nothing is recalled, likewise")
	f.Float64Var(&s.recall, "recall", 0.20, "the recalled passages, likewise")
	f.Float64Var(&s.besideRecall, "beside-recall", 0.60, "the handoff where passages are recalled, likewise")
}

func (s *shares) String() string {
	return fmt.Sprintf("tail %.2f, handoff %.2f of the budget; with recall: tail %.2f, handoff %.2f, recalled passages %.2f",
		s.keep, s.deterministic, s.keep, s.besideRecall, s.recall)
}

// plan is the setting for a budget: trigger and usable are the budget.
func (s *shares) plan(_ conversation, n window.Tokens, recalls bool) plan {
	handoff, recall := s.deterministic, 0.0
	if recalls {
		handoff, recall = s.besideRecall, s.recall
	}
	part := func(share float64) window.Tokens { return window.Tokens(share * float64(n)) }
	return plan{
		budget: window.Budget{
			Limits: window.Limits{Total: n, Source: window.Config},
			Usable: n, Trigger: n,
			Handoff: part(handoff), Deterministic: part(handoff), Recall: part(recall),
			Correction: 1, Step: 1,
		},
		settings: window.Settings{Trigger: 1, KeepRecent: s.keep, Recall: recall, Handoff: handoff, Deterministic: handoff},
	}
}

// shipped is what the product does by default, in the smallest window whose
// trigger is at least at the budget.
func shipped(c conversation, n window.Tokens, recalls bool) plan {
	s := middleware.DefaultSettings()
	if !recalls {
		s.Recall = 0
	}
	named := window.Tokens(max(c.view.MaxTokens, c.view.MaxCompletionTokens))
	in := func(total int) window.Budget {
		return window.NewBudget(window.Limits{Total: window.Tokens(total), Source: window.Config}, s, named, 1, 1)
	}
	total := sort.Search(16*int(n)+1024, func(total int) bool { return in(total).Trigger >= n })
	return plan{budget: in(total), settings: s}
}
