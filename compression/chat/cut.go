package chat

// Cuttable reports where the messages after the head may be divided: [p] is
// whether everything before message Head+p may be replaced and the rest kept.
// It has one entry more than there are such messages.
//
// A cut is legal where the message after it is no result and no result after it
// answers a call before it. A tool result answers the latest call before it with
// its id; without an id, the latest message with calls. The result of a
// deprecated function call answers the latest such call of its name, else the
// latest of any name. Results that answer nothing bind nothing.
//
// Nor is a cut legal that would make two turns of a user neighbours that were
// none. What replaces the messages is a user's turn, and merges only with a
// user's that comes next; chat templates that demand turns count neither results
// nor messages with calls. So the first turn they count after such a cut is no
// user's, unless the one before it was.
//
// [0] is always true. The last entry, the cut after everything, is false while a
// call of the last message that is no result has no result: one may still come.
func (r *Request) Cuttable() []bool {
	messages := r.Messages[r.Head:]
	ok := make([]bool, len(messages)+1)
	spans := make([]int, len(messages)+1) // at p, the change in how many answers reach over cut p
	calls := callIndex{latest: map[callKey]int{}, tool: -1, function: -1}
	for j := range messages {
		m := &messages[j]
		if !m.Role.Result() {
			calls.add(j, m)
			continue
		}
		if c := calls.answered(m); c >= 0 {
			spans[c+1]++
			spans[j+1]--
		}
	}
	over := 0
	for p := range messages {
		over += spans[p]
		ok[p] = over == 0 && !messages[p].Role.Result()
	}
	forbidNewNeighbours(messages, ok)
	ok[len(messages)] = !inFlight(messages)
	ok[0] = true
	return ok
}

// forbidNewNeighbours takes out the cuts after which a user's turn would follow
// the one that replaces the messages, where it followed none.
func forbidNewNeighbours(messages []Message, ok []bool) {
	users := false // whether the turn before is a user's
	since := 0     // where the messages that are no turns began
	for p := range messages {
		m := &messages[p]
		if m.Role.Result() || len(m.Calls) > 0 {
			continue
		}
		user := m.Role == RoleUser
		if user && !users {
			for q := since; q < p; q++ {
				ok[q] = false
			}
		}
		users, since = user, p+1
	}
}

// callKey names a call: by id, or by name where it is a deprecated function call.
type callKey struct {
	deprecated bool
	name       string
}

func (c *Call) key() callKey {
	if c.deprecated() {
		return callKey{true, c.Name}
	}
	return callKey{false, c.ID}
}

func (m *Message) resultKey() callKey {
	if m.Role == RoleFunction {
		return callKey{true, m.Name}
	}
	return callKey{false, m.ToolCallID}
}

// MayCall reports whether calls in the message count: those of an assistant, or
// of a role by another name that stands for one.
func (m *Message) MayCall() bool {
	return m.Role == RoleAssistant || m.Role == RoleOther
}

// callIndex knows the place of the latest call of each key while messages are
// walked in order. Ids and names may be used again: the later call replaces the
// earlier.
type callIndex struct {
	latest   map[callKey]int
	tool     int // latest message with tool calls, -1 if none
	function int // latest message with a deprecated function call, -1 if none
}

func (x *callIndex) add(at int, m *Message) {
	if !m.MayCall() {
		return
	}
	for i := range m.Calls {
		c := &m.Calls[i]
		x.latest[c.key()] = at
		if c.deprecated() {
			x.function = at
		} else {
			x.tool = at
		}
	}
}

// answered is the place of the message whose call the result answers, or -1.
func (x *callIndex) answered(m *Message) int {
	if at, ok := x.latest[m.resultKey()]; ok {
		return at
	}
	switch {
	case m.Role == RoleFunction:
		return x.function
	case m.ToolCallID == "":
		return x.tool
	default:
		return -1
	}
}

// inFlight reports whether the last message that is no result has a call that
// none of the results after it answers. A result without an id answers any one.
func inFlight(messages []Message) bool {
	last := len(messages) - 1
	for last >= 0 && messages[last].Role.Result() {
		last--
	}
	if last < 0 || !messages[last].MayCall() {
		return false
	}
	waiting := make(map[callKey]bool, len(messages[last].Calls))
	for i := range messages[last].Calls {
		waiting[messages[last].Calls[i].key()] = true
	}
	unnamed := 0
	for i := last + 1; i < len(messages); i++ {
		key := messages[i].resultKey()
		if key.name == "" && !waiting[key] {
			unnamed++
		}
		delete(waiting, key)
	}
	return len(waiting) > unnamed
}
