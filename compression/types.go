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
	// Tokens is the corrected count of Body.
	Tokens  Tokens
	Covered int
	// Shrunk counts the messages that the exit gate had to shrink.
	Shrunk int
	// Fits is whether Tokens is at most usable. False: the smallest form there
	// is, to be forwarded all the same.
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
	// Reason is "blank", "cut", "refusal", "too-long", "ineffective" or "invented".
	Reason string
}

func (e *RefusedError) Error() string { return "compression: summary refused: " + e.Reason }
