package middleware

import "github.com/foldgate/foldgate/compression/window"

// subagentHeader is what Codex says about requests that it makes beside a
// conversation; "compact" is one that compacts it.
const subagentHeader = "X-Openai-Subagent"

// compacting reports whether a client compacts its conversation itself, with this
// request, and the request fits. It then goes as it came, and no attempt is
// begun: a summary of our summary would be the worse of two, and the conversation
// it belongs to is about to be replaced. One that does not fit is folded as any
// other, since a compaction that is refused leaves its client with nothing.
func (x *exchange) compacting(before window.Tokens) bool {
	if before > x.budget.Usable || x.overBytes() {
		return false
	}
	return x.r.Header.Get(subagentHeader) == "compact" || x.view.Compacting()
}
