package chat

import (
	"encoding/binary"
	"slices"
	"sort"
	"sync"

	"github.com/foldgate/foldgate/compression/internal/clock"
	"github.com/foldgate/foldgate/compression/internal/tag"
)

// A growing conversation is sent anew with every turn, so nearly all of a body
// was read before. Seen remembers, for the beginnings of bodies, where their long
// strings and their messages end, and reading goes over those in one step. What is
// left is the walk from message to message, and one pass of hashing.
//
// A body is named block by block: the name of a block stands for every byte from
// the body's first to the block's last: a tag whose domain is the name before it.
// Two beginnings that differ have the same name with a chance of about 2^-96,
// whoever made them. Only numbers are kept, never text.

// BlockSize is the number of bytes of a block.
const BlockSize = 8 << 10

// BlockName names a body from its first byte to the last of a block, among the
// bodies that one Seen has read. The zero name is of nothing.
type BlockName = tag.Tag

// Bounds of what is remembered: blocks (256 MiB of different text), and the long
// strings and messages in all of them, 12 bytes each. Together at most about 16 MiB.
const (
	seenBlocks = 1 << 15
	seenLeaps  = 1 << 20
	seenShards = 16
)

// block is what ends in one block: its long strings and its messages, in order.
type block struct {
	strings  []leap
	messages []stride
}

// Seen remembers the beginnings of bodies. Bounded, and safe for concurrent use.
type Seen struct {
	tagger tag.Tagger
	shards [seenShards]seenShard
}

// NewSeen makes one that has seen nothing.
func NewSeen() *Seen {
	s := &Seen{tagger: tag.New()}
	for i := range s.shards {
		s.shards[i].blocks = clock.New[BlockName, block](seenBlocks/seenShards, seenLeaps/seenShards)
	}
	return s
}

// ReadEnvelope is ReadEnvelope, and remembers. The results are the same.
func (s *Seen) ReadEnvelope(body []byte) (Envelope, error) {
	names := s.nameBlocks(body)
	known := s.recall(names)
	e, err := readEnvelope(body, known.block)
	if err == nil && !e.reading.many {
		e.reading.blocks = names
		s.remember(names[known.blocks:], known.blocks, block{
			strings:  e.reading.strings[len(known.strings):],
			messages: e.reading.messages[len(known.messages):],
		})
	}
	return e, err
}

// nameBlocks names the full blocks of a body, none where one is longer than a
// leap can tell.
func (s *Seen) nameBlocks(body []byte) []BlockName {
	if uint64(len(body)) > 1<<32-1 {
		return nil
	}
	names := make([]BlockName, len(body)/BlockSize)
	before := new(BlockName)
	for i := range names {
		s.tagger.Put(&names[i], before[:], body[i*BlockSize:(i+1)*BlockSize])
		before = &names[i]
	}
	return names
}

// beginning is what is remembered of the first blocks of a body, as many as were
// seen.
type beginning struct {
	block
	blocks int
}

func (s *Seen) recall(names []BlockName) (known beginning) {
	for _, name := range names {
		got, ok := s.shard(name).get(name)
		if !ok {
			break
		}
		if known.blocks == 0 { // a guess from the first block, so that most slices grow once
			known.strings = make([]leap, 0, len(names)*(len(got.strings)+1))
			known.messages = make([]stride, 0, min(len(names)*(len(got.messages)+1), MaxElements))
		}
		known.strings = append(known.strings, got.strings...)
		known.messages = append(known.messages, got.messages...)
		known.blocks++
	}
	return known
}

// remember takes what ends in the named blocks, of which the first is the body's
// block number first. What ends behind them is left out.
func (s *Seen) remember(names []BlockName, first int, found block) {
	for i, name := range names {
		end := uint32(first+i+1) * BlockSize //nolint:gosec // a body has less than 4 GiB, see nameBlocks
		n := sort.Search(len(found.strings), func(j int) bool { return found.strings[j].end >= end })
		m := sort.Search(len(found.messages), func(j int) bool { return found.messages[j].end >= end })
		s.shard(name).put(name, block{strings: slices.Clone(found.strings[:n]), messages: slices.Clone(found.messages[:m])})
		found.strings, found.messages = found.strings[n:], found.messages[m:]
	}
}

func (s *Seen) shard(name BlockName) *seenShard {
	return &s.shards[binary.LittleEndian.Uint64(name[:])%seenShards]
}

type seenShard struct {
	mu     sync.Mutex
	blocks *clock.Map[BlockName, block] // each weighs its strings and messages
}

func (s *seenShard) get(name BlockName) (block, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.blocks.Get(name); known != nil {
		return *known, true
	}
	return block{}, false
}

func (s *seenShard) put(name BlockName, b block) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.blocks.Put(name, b, len(b.strings)+len(b.messages))
}
