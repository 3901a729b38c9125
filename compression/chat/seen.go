package chat

import (
	"encoding/binary"
	"sort"
	"sync"

	"github.com/foldgate/foldgate/compression/internal/clock"
	"github.com/foldgate/foldgate/compression/internal/tag"
)

// A growing conversation is sent anew with every turn, so nearly all of a body
// was read before. Seen remembers, for the beginnings of bodies, where their long
// strings end, and reading goes over those in one step. What is left is the walk
// from string to string, and one pass of hashing.
//
// A body is named block by block: the name of a block stands for every byte from
// the body's first to the block's last: a tag whose domain is the name before it.
// Two beginnings that differ have the same name with a chance of about 2^-96,
// whoever made them. Only numbers are kept, never text.

// Bounds of what is remembered: blocks (256 MiB of different text), and the long
// strings in all of them, 12 bytes each. Together at most about 16 MiB.
const (
	seenBlock  = 8 << 10
	seenBlocks = 1 << 15
	seenLeaps  = 1 << 20
	seenShards = 16
)

// Seen remembers the beginnings of bodies. Bounded, and safe for concurrent use.
type Seen struct {
	tagger tag.Tagger
	shards [seenShards]seenShard
}

// NewSeen makes one that has seen nothing.
func NewSeen() *Seen {
	s := &Seen{tagger: tag.New()}
	for i := range s.shards {
		s.shards[i].blocks = clock.New[tag.Tag, []leap](seenBlocks/seenShards, seenLeaps/seenShards)
	}
	return s
}

// ReadEnvelope is ReadEnvelope, and remembers. The results are the same.
func (s *Seen) ReadEnvelope(body []byte) (Envelope, error) {
	names := s.nameBlocks(body)
	known, count := s.recall(names)
	e, err := readEnvelope(body, known)
	if err == nil {
		s.remember(names[count:], count, e.reading.strings[len(known):])
	}
	return e, err
}

// nameBlocks names the full blocks of a body, none where one is longer than a
// leap can tell.
func (s *Seen) nameBlocks(body []byte) []tag.Tag {
	if uint64(len(body)) > 1<<32-1 {
		return nil
	}
	names := make([]tag.Tag, len(body)/seenBlock)
	var before tag.Domain
	for i := range names {
		names[i] = s.tagger.Of(before, body[i*seenBlock:(i+1)*seenBlock])
		copy(before[:], names[i][:])
	}
	return names
}

// recall is the long strings that end in the first blocks, as many blocks as were
// seen, and their number.
func (s *Seen) recall(names []tag.Tag) (known []leap, count int) {
	for count < len(names) {
		got, ok := s.shard(names[count]).get(names[count])
		if !ok {
			break
		}
		known = append(known, got...)
		count++
	}
	return known, count
}

// remember takes the strings that end in the named blocks, of which the first is
// the body's block number first. Strings behind them are left out.
func (s *Seen) remember(names []tag.Tag, first int, strings []leap) {
	for i, name := range names {
		end := uint32(first+i+1) * seenBlock //nolint:gosec // a body has less than 4 GiB, see nameBlocks
		n := sort.Search(len(strings), func(j int) bool { return strings[j].end >= end })
		s.shard(name).put(name, append([]leap(nil), strings[:n]...))
		strings = strings[n:]
	}
}

func (s *Seen) shard(name tag.Tag) *seenShard {
	return &s.shards[binary.LittleEndian.Uint64(name[:])%seenShards]
}

type seenShard struct {
	mu     sync.Mutex
	blocks *clock.Map[tag.Tag, []leap] // each weighs its leaps
}

func (s *seenShard) get(name tag.Tag) ([]leap, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.blocks.Get(name); known != nil {
		return *known, true
	}
	return nil, false
}

func (s *seenShard) put(name tag.Tag, leaps []leap) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.blocks.Put(name, leaps, len(leaps))
}
