package ownershiptest

import (
	"github.com/foldgate/foldgate/ownership"
)

func readCases() []testCase {
	return []testCase{
		{"a conversation nobody claimed is the zero view", 0, readUnknown},
		{"known handoffs are left out", 0, readKnown},
		{"it writes nothing", 0, readWritesNothing},
	}
}

func readUnknown(x *fixture) {
	v := x.read(x.A)
	if v.Generation != 0 || v.Owner != nil || v.Cancel != nil || len(v.State.Checkpoints) != 0 || v.Now.IsZero() {
		x.Fatalf("unknown conversation: %s", show(v))
	}
}

func readKnown(x *fixture) {
	a, b := x.committed(x.A, target(1)), x.committed(x.A, target(2))
	stranger := ownership.Fence{Generation: a.Generation, Attempt: newID()}
	for name, known := range map[string][]ownership.Fence{
		"none": nil, "older": {a}, "newer": {b, stranger}, "all": {a, b}, "stranger": {stranger},
	} {
		cs := x.read(x.B, known...).State.Checkpoints
		if len(cs) != 2 {
			x.Fatalf("%s known: %d checkpoints", name, len(cs))
		}
		for _, c := range cs {
			held := false
			for _, f := range known {
				held = held || f == c.Fence
			}
			if held != (c.Handoff == nil) {
				x.Fatalf("%s known: handoff of %v has %d bytes", name, c.Fence, len(c.Handoff))
			}
			if !held && string(c.Handoff) != "summary of "+c.Digest.String() {
				x.Fatalf("%s known: handoff %q", name, c.Handoff)
			}
		}
	}
}

func readWritesNothing(x *fixture) {
	x.troubled()
	f := x.begin(x.A, bypassing(target(2)))
	x.raise(x.A, f, "operator")
	x.unchanged("reading", func() {
		for range 3 {
			x.read(x.A)
			x.read(x.B, f)
		}
	})
}
