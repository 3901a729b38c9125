package compression

import (
	"encoding/binary"
	"sync"

	"github.com/foldgate/foldgate/compression/chat"
	"github.com/foldgate/foldgate/compression/internal/clock"
)

// The ledger remembers what the messages in the beginnings of bodies cost, by the
// names of the blocks that chat.Seen gave them. A body that grew is then counted
// without a look at the messages that it began with last time: neither parsed nor
// named nor asked for one by one.
//
// Everything in it is a pure function of the bytes that a block's name stands
// for, so that it makes no difference who wrote it.

// Bounds of the ledger: blocks, and messages in all of them, about 130 bytes each.
const (
	ledgerBlocks   = 1 << 15
	ledgerMessages = 1 << 16
	ledgerShards   = 16
)

// account is what is kept of one message.
type account struct {
	key      memoKey
	fact     fact
	chain    chat.Digest // up to and with this message; of the head: zero
	elements int32
	role     chat.Role
	media    bool
}

// knowsChain goes with the bits of a fact: the chain up to a message is known.
// everything is all of them.
const (
	knowsChain = knowsReference << 1
	everything = knowsDigest | knowsBounds | knowsReference | knowsChain
)

// page is the accounts of the messages that end in one block. It is never changed.
type page struct {
	accounts []account
	known    uint8 // what all of them know
}

type ledger [ledgerShards]ledgerShard

type ledgerShard struct {
	mu    sync.Mutex
	pages *clock.Map[chat.BlockName, page] // each weighs its messages
}

func newLedger() *ledger {
	l := new(ledger)
	for i := range l {
		l[i].pages = clock.New[chat.BlockName, page](ledgerBlocks/ledgerShards, ledgerMessages/ledgerShards)
	}
	return l
}

func (l *ledger) shard(name chat.BlockName) *ledgerShard {
	return &l[binary.LittleEndian.Uint64(name[:])%ledgerShards]
}

func (l *ledger) get(name chat.BlockName) (page, bool) {
	s := l.shard(name)
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.pages.Get(name); p != nil {
		return *p, true
	}
	return page{}, false
}

// put keeps a page, in the place of one that knows less.
func (l *ledger) put(name chat.BlockName, p page) {
	s := l.shard(name)
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.pages.Get(name); old != nil {
		if old.known != p.known && old.known&p.known == old.known {
			*old = p
		}
		return
	}
	s.pages.Put(name, p, len(p.accounts))
}

// beginning is what the ledger knows of the first messages of a body.
type beginning struct {
	pages    []page
	messages int
	known    uint8 // what all of them know
}

// recall looks up the first blocks of a body, as many as are known, of which no
// more than most messages.
func (l *ledger) recall(names []chat.BlockName, most int) (b beginning) {
	b.known = everything
	for _, name := range names {
		p, ok := l.get(name)
		if !ok || b.messages+len(p.accounts) > most {
			break
		}
		if b.pages == nil {
			b.pages = make([]page, 0, len(names))
		}
		b.pages = append(b.pages, p)
		b.messages += len(p.accounts)
		b.known &= p.known
	}
	return b
}

// Look is Parse and View in one, for a body whose envelope was read. Of messages
// that a Look remembers (see Remember) nothing is read before it is needed, so
// that a grown conversation costs what is new in it. The View keeps body. Errors are
// Parse's.
func (m *Memo) Look(body []byte, e chat.Envelope) (*View, error) {
	total, names := e.Known(body)
	known := m.ledger.recall(names, total)
	if known.messages == 0 {
		return m.lookAtAll(body, e)
	}
	tail, err := chat.ParseSome(body, e, known.messages, total)
	if err != nil {
		return m.lookAtAll(body, e) // which says so, as Parse does
	}
	v := newView(m, &chat.Request{Envelope: e, Body: body}, total)
	v.tail, v.unread, v.recalled = &chat.Request{Envelope: e, Body: body, Messages: tail}, known.messages, known.messages
	v.names, v.pages, v.known = names, len(known.pages), known.known
	v.take(known)
	if v.elements > chat.MaxElements {
		return m.lookAtAll(body, e) // which says so
	}
	return v, nil
}

// lookAtAll reads every message.
func (m *Memo) lookAtAll(body []byte, e chat.Envelope) (*View, error) {
	r, err := chat.Parse(body, e)
	if err != nil {
		return nil, err
	}
	v := m.View(r)
	_, v.names = e.Known(body)
	return v, nil
}

// take fills in what the ledger knows of the first messages, and what the others
// say of themselves.
func (v *View) take(b beginning) {
	v.keys = make([]memoKey, v.count)
	i := 0
	for _, p := range b.pages {
		for k := range p.accounts {
			a := &p.accounts[k]
			v.keys[i], v.facts[i] = a.key, a.fact
			v.marks[i] = mark{role: a.role, media: a.media, elements: a.elements}
			i++
		}
	}
	for k := range v.tail.Messages {
		v.marks[i+k] = markOf(&v.tail.Messages[k])
	}
	for v.Head < v.count && v.marks[v.Head].role.Leading() {
		v.Head++
	}
	for i := range v.marks {
		v.elements += int(v.marks[i].elements)
	}
	if b.known&knowsChain == 0 {
		return
	}
	v.chain = append(make([]chat.Digest, 0, v.Len()+1), chat.Digest{})
	i = 0
	for _, p := range b.pages {
		for k := range p.accounts {
			if i++; i > v.Head {
				v.chain = append(v.chain, p.accounts[k].chain)
			}
		}
	}
}

// Remember keeps what was computed for the messages, so that a Look at a body that
// begins the same finds it. For a View that no Look made it does nothing.
func (v *View) Remember() {
	if v.keys == nil {
		return
	}
	page, i := 0, 0
	if v.knownOf(0, v.recalled) == v.known {
		page, i = v.pages, v.recalled
	}
	for ; page < len(v.names); page++ {
		end, from := (page+1)*chat.BlockSize, i
		for i < v.count && v.span(i).End <= end {
			i++
		}
		p := v.pageOf(from, i)
		if p.known == 0 {
			return
		}
		v.memo.ledger.put(v.names[page], p)
	}
}

// pageOf is the accounts of messages from to to.
func (v *View) pageOf(from, to int) page {
	p := page{accounts: make([]account, to-from), known: v.knownOf(from, to)}
	for k := range p.accounts {
		i := from + k
		m := v.marks[i]
		p.accounts[k] = account{key: v.keys[i], fact: v.facts[i], role: m.role, media: m.media, elements: m.elements}
		if n := i + 1 - v.Head; n > 0 && n < len(v.chain) {
			p.accounts[k].chain = v.chain[n]
		}
	}
	return p
}

// knownOf is what is known of all messages from to to.
func (v *View) knownOf(from, to int) uint8 {
	known := everything
	if to > from && to-v.Head >= len(v.chain) {
		known &^= knowsChain
	}
	for i := from; i < to; i++ {
		known &= v.facts[i].known | knowsChain
	}
	return known
}
