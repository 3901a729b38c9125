package middleware

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/foldgate/foldgate/compression"
	"github.com/foldgate/foldgate/compression/chat"
	"github.com/foldgate/foldgate/compression/window"
)

const (
	// knownEntries bounds how many counts are remembered, at about 150 bytes each.
	knownEntries = 1 << 14
	// knownBack is how many messages may have been added since the upstream
	// counted. An agent's turn adds a few.
	knownBack = 64
)

// sizeName names exactly what an upstream counted: whose request it was, to
// which upstream and model, head, tools and response format, every message, and
// the handoff that stood for the first of them. The zero name is of nothing.
type sizeName [sha256.Size]byte

// knownSizes remembers what upstreams counted for the requests that they took, so
// that of a later turn only what is new has to be estimated. It holds hashes and
// numbers, never text; it decides whether a request is folded, never how. Of this
// replica only: another one estimates until it has seen a turn. Bounded, least
// recently used first; safe for concurrent use.
type knownSizes struct {
	bySize *lru.Cache[sizeName, window.Known]
}

func newKnownSizes(entries int) (*knownSizes, error) {
	c, err := lru.New[sizeName, window.Known](entries)
	return &knownSizes{bySize: c}, err
}

// nameScope is what every name of x's requests begins with that are folded with
// h, or as they came where h is nil or covers nothing.
func (x *exchange) nameScope(h *compression.Handoff) sizeName {
	if h != nil && x.scopeOf == (scopeOf{h.Covered, h.Text}) && x.scopeOf.covered > 0 {
		return x.scopeName // asked for the size of the whole, after what was known of it
	}
	s := sha256.New()
	for _, part := range [...]string{"foldgate size", x.scope.Tenant, x.scope.Upstream, x.envelope.Model} {
		writeField(s, part)
	}
	if h != nil && h.Covered > 0 {
		var covered [8]byte
		binary.BigEndian.PutUint64(covered[:], uint64(h.Covered))
		s.Write(covered[:])
		writeField(s, h.Text)
	}
	var name sizeName
	s.Sum(name[:0])
	if h != nil {
		x.scopeOf, x.scopeName = scopeOf{h.Covered, h.Text}, name
	}
	return name
}

// scopeOf is what a scope's name depends on, beside the request.
type scopeOf struct {
	covered int
	text    string
}

// nameOf names the request with only its first n messages after the head, and
// counts it as it came.
func (x *exchange) nameOf(scope sizeName, n int) (sizeName, window.Tokens) {
	prefix, counted := x.view.Prefix(n)
	var joined [2 * sha256.Size]byte
	copy(joined[copy(joined[:], scope[:]):], prefix[:])
	return sha256.Sum256(joined[:]), counted
}

// hiddenTokens reports whether a request has tokens that are not in its messages,
// tools or response format: a stored conversation, documents that the server
// fetches. What an image, a sound or a file in a message costs is hidden too, but
// it is the same in the next turn.
func hiddenTokens(body []byte, e chat.Envelope) bool {
	if !e.Opaque {
		return false
	}
	rest := slices.Concat(body[:e.Messages.Start], []byte("[]"), body[e.Messages.End:])
	without, err := chat.ReadEnvelope(rest)
	return err != nil || without.Opaque
}

// sizeOf names the whole request, folded with h or as it came; zero where it has
// hidden tokens.
func (x *exchange) sizeOf(h *compression.Handoff) sizeName {
	if x.hidden {
		return sizeName{}
	}
	name, _ := x.nameOf(x.nameScope(h), x.view.Len())
	return name
}

// known is the longest beginning of the request, folded with h or as it came,
// that this upstream has counted. Zero: none.
//
// Recalled passages are no part of the name: they change with the user's
// message, and what is known then differs by them alone, which Corrected takes
// into account as far as their estimate is right. They are a few percent of the
// window.
func (x *exchange) known(h *compression.Handoff) window.Known {
	if x.hidden {
		return window.Known{}
	}
	least := max(0, x.view.Len()-knownBack)
	if h != nil {
		least = max(least, h.Covered)
	}
	scope := x.nameScope(h)
	for n := x.view.Len(); n >= least; n-- {
		name, counted := x.nameOf(scope, n)
		k, ok := x.m.known.bySize.Get(name)
		if !ok {
			continue
		}
		if (h == nil || h.Covered == 0) && k.Counted != counted {
			continue // counted by other rules: before the model's family was known
		}
		return k
	}
	return window.Known{}
}

// remember keeps what the upstream counted for a request of ours. size is zero
// where that is no ground to go by.
func (x *exchange) remember(size sizeName, counted, reported window.Tokens) {
	if size == (sizeName{}) || counted <= 0 || reported <= 0 {
		return
	}
	x.m.known.bySize.Add(size, window.Known{Counted: counted, Reported: reported})
}

// budgetFor is the budget for the request folded with h, or as it came where h
// is nil or covers nothing.
func (x *exchange) budgetFor(h *compression.Handoff) window.Budget {
	b := x.budget
	b.Known = x.known(h)
	return b
}
