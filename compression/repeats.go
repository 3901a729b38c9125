package compression

// repeatShare is how much of a call, in percent of its terms, a later call of the
// same tool holds that repeats it.
const repeatShare = 80

// longCall is a call with long arguments, and the terms of its line without what
// came of it.
type longCall struct {
	unit  int
	name  string
	terms []int32
}

// weighRepeats lowers what a call tells that the next one of the same tool says
// again: agents keep a plan, or a list of what is to be done, by sending all of it
// anew whenever a line of it changes, and the newest is the one that holds.
func (n *notes) weighRepeats() {
	next := make(map[string]map[int32]bool)
	for i := len(n.long) - 1; i >= 0; i-- {
		c := &n.long[i]
		later, again := next[c.name], 0
		terms := make(map[int32]bool, len(c.terms))
		for _, id := range c.terms {
			terms[id] = true
			if later[id] {
				again++
			}
		}
		if later != nil && again*100 >= len(c.terms)*repeatShare {
			n.units[c.unit].weight = weightRepeat
		}
		next[c.name] = terms
	}
}
