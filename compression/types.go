package compression

import (
	"fmt"

	"github.com/foldgate/foldgate/compression/chat"
	"github.com/foldgate/foldgate/compression/window"
)

// Tokens is a number of model tokens.
type Tokens = window.Tokens

// Handoff stands for the first Covered messages after the head.
type Handoff struct {
	Covered int
	Digest  chat.Digest
	// Text is what a checkpoint keeps: the whole message text, with its frame.
	Text string
	// Step is the correction step under which it was cut.
	Step float64
	// Model is whether a model wrote it (false: section 5.4).
	Model bool
}

// Folded is a request ready to be forwarded.
type Folded struct {
	Body []byte
	// Tokens is the corrected count of Body, Counted our own.
	Tokens, Counted Tokens

	Covered int
	// Recalled is the number of passages of the covered messages that go before
	// the last user message.
	Recalled int
	// Shrunk counts the messages that the exit gate had to shrink, the handoff as one.
	Shrunk int
	// Fits is whether Tokens is at most usable, and Body no longer than the limit
	// of bytes. False: the smallest form there is, to be forwarded all the same.
	Fits bool
}

// UnfitError says that no form of the request can fit, and what does not.
type UnfitError struct {
	// Part is "system messages", "the last user message", "tools" or "messages".
	Part  string
	Least Tokens // the least that the smallest form needs (lower bound)
	Limit Tokens // the input limit
}

func (e *UnfitError) Error() string {
	return fmt.Sprintf("compression: %s cannot fit: at least %d tokens, the limit is %d", e.Part, e.Least, e.Limit)
}

// RefusedError says why a model's output does not become a handoff.
type RefusedError struct {
	// Reason is one of:
	//
	//   - "blank": nothing to read, also when thoughts and marks are taken off.
	//   - "cut": the model ran into its output limit.
	//   - "refusal": it declined, or a filter stopped it.
	//   - "protocol": it called a tool instead of writing.
	//   - "thoughts": it thought aloud and wrote no summary.
	//   - "page": a document of the web, such as a proxy's error page.
	//   - "echo": the prompt's own instructions or transcript, sent back.
	//   - "skeleton": headings with nothing, or placeholders, under all of them.
	//   - "too-long": over what the budget gives a handoff.
	//   - "ineffective": not smaller than what it would replace.
	//   - "invented": it names requests of the user that nobody made.
	Reason string
}

func (e *RefusedError) Error() string { return "compression: summary refused: " + e.Reason }
