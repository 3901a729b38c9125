package compression

import (
	"sync"

	"github.com/foldgate/foldgate/compression/chat"
	"github.com/foldgate/foldgate/compression/internal/clock"
	"github.com/foldgate/foldgate/compression/internal/tag"
)

// memoShards spreads the lock over the requests that are measured at once.
const memoShards = 16

// memoKey names a piece of a request, within one Memo: what it is, and its bytes.
type memoKey = tag.Tag

// Kinds of what a memoKey names. The same bytes are counted in another way as a
// message than as a list of tools.
const (
	kindMessage byte = iota + 1
	kindExtra        // tools, response format
	kindShrunk       // + level: a message as the exit gate left it
	kindPriced       // + pricing: what a family pays for a message's images
	kindFixed        // what all prefixes of a request begin with
	kindPrefix       // a prefix
)

// keyOf names b as a thing of the given kind.
func (m *Memo) keyOf(kind byte, b []byte) memoKey { return m.tagger.Of(tag.Domain{kind}, b) }

// What a fact knows.
const (
	knowsDigest uint8 = 1 << iota
	knowsBounds
	knowsReference
)

// fact is what is remembered of one message. All of it is a pure function of the
// message's bytes, so that it makes no difference who computed it.
type fact struct {
	digest    chat.Digest
	canonical int32
	reference int32
	low, high int32
	known     uint8
}

func (f fact) knows(what uint8) bool { return f.known&what == what }

// Memo remembers what messages cost and how they are named, so that a turn costs
// what is new in it. It holds names and numbers, never text. Bounded, and safe
// for concurrent use.
type Memo struct {
	tagger  tag.Tagger
	shards  [memoShards]memoShard
	choices choices
	ledger  *ledger
}

// NewMemo makes a Memo for about the given number of messages, at roughly 130
// bytes each; beside them at most 10 MiB for the beginnings of bodies (see Look),
// and 58 MiB for what recall looks up. Numbers below one count as one.
func NewMemo(entries int) *Memo {
	m := &Memo{tagger: tag.New(), choices: newChoices(), ledger: newLedger()}
	each := max(1, (entries+memoShards-1)/memoShards)
	for i := range m.shards {
		m.shards[i].facts = clock.New[memoKey, fact](each, 0)
	}
	return m
}

// View looks at one request through the memo. Nothing is computed before it is
// asked for.
func (m *Memo) View(r *chat.Request) *View {
	v := newView(m, r, len(r.Messages))
	for i := range r.Messages {
		v.marks[i] = markOf(&r.Messages[i])
		v.elements += int(v.marks[i].elements)
	}
	return v
}

func (m *Memo) get(k memoKey) (fact, bool) { return m.shards[k[0]%memoShards].get(k) }

func (m *Memo) put(k memoKey, f fact) { m.shards[k[0]%memoShards].put(k, f) }

type memoShard struct {
	mu    sync.Mutex
	facts *clock.Map[memoKey, fact]
}

func (s *memoShard) get(k memoKey) (fact, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.facts.Get(k); known != nil {
		return *known, true
	}
	return fact{}, false
}

// put stores f, or adds what it knows to what is there already.
func (s *memoShard) put(k memoKey, f fact) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.facts.Get(k); known != nil {
		*known = known.with(f)
		return
	}
	s.facts.Put(k, f, 0)
}

// with joins what two computations of the same message know.
func (f fact) with(g fact) fact {
	if g.knows(knowsDigest) {
		f.digest, f.canonical = g.digest, g.canonical
	}
	if g.knows(knowsBounds) {
		f.low, f.high = g.low, g.high
	}
	if g.knows(knowsReference) {
		f.reference = g.reference
	}
	f.known |= g.known
	return f
}
