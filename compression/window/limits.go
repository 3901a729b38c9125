package window

// input is the most that a request may hold. Zero: unknown.
func (l Limits) input() Tokens {
	if l.Input > 0 {
		return l.Input
	}
	return l.Total
}

// completed makes three numbers of those that a source named and those that are
// known, and reports whether the outcome is plausible. A total is never less than
// an input limit; an input limit that is known holds on under another total where
// it is less than that; an output limit of more than the total is none.
func completed(l, known Limits, source Source) (Limits, bool) {
	if l.Total <= 0 && l.Input <= 0 {
		return Limits{}, false
	}
	l.Source, l.Bytes = source, 0
	if l.Total <= 0 {
		l.Total = max(l.Input, known.Total)
	}
	if l.Input <= 0 || l.Input > l.Total {
		l.Input = 0
	}
	if l.Input == 0 && known.Input > 0 && known.Input < l.Total {
		l.Input = known.Input
	}
	if l.Output <= 0 {
		l.Output = known.Output
	}
	if l.Output > l.Total {
		l.Output = 0
	}
	return l, l.Total >= MinLearned && l.Total <= MaxLearned && l.input() >= MinLearned
}

// lowerThan reports whether l allows less than current, in total or as input.
func lowerThan(l, current Limits) bool {
	return l.Total <= current.Total && (l.Total < current.Total || l.input() < current.input())
}
