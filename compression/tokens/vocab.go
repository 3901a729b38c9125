package tokens

import (
	"encoding/binary"
	"math/bits"

	"github.com/tiktoken-go/tokenizer/codec"
)

// none is the rank of what is no vocabulary entry. It sorts after all ranks.
const none = ^uint32(0)

// short is the length up to which an entry fits a machine word.
const short = 8

// vocab maps byte strings to their rank. It is two open-addressed tables, one
// keyed by the bytes themselves for entries of up to 8 bytes, which is most of
// them, and one by a hash for the rest. A Go map of strings costs three times
// as much per look-up, and merging is nothing but look-ups.
type vocab struct {
	pairs   []uint32 // rank by two bytes
	words   []wordSlot
	strings []stringSlot
	bytes   []byte // of all entries longer than short
	longest int
	size    int
}

// wordSlot is empty when meta is. meta is length<<24 | rank+1.
type wordSlot struct {
	key  uint64
	meta uint32
}

// stringSlot is empty when length is zero.
type stringSlot struct {
	hash   uint32
	offset uint32
	length uint32
	rank   uint32
}

const (
	wordBits   = 18
	stringBits = 17
)

// newVocab takes the vocabulary out of the tokenizer library, which has it
// compiled in: its codec tells the bytes of every rank. Ranks are contiguous.
func newVocab() *vocab {
	v := &vocab{
		pairs:   make([]uint32, 1<<16),
		words:   make([]wordSlot, 1<<wordBits),
		strings: make([]stringSlot, 1<<stringBits),
	}
	for i := range v.pairs {
		v.pairs[i] = none
	}
	source := codec.NewO200kBase()
	id := []uint{0}
	for {
		entry, err := source.Decode(id)
		if err != nil {
			return v
		}
		v.add(entry, uint32(id[0]))
		id[0]++
		v.size++
	}
}

func (v *vocab) add(entry string, rank uint32) {
	v.longest = max(v.longest, len(entry))
	if len(entry) == 2 {
		v.pairs[uint(entry[0])<<8|uint(entry[1])] = rank
	}
	if len(entry) <= short {
		var key uint64
		for i := range len(entry) {
			key |= uint64(entry[i]) << (8 * i)
		}
		i := hashWord(key, len(entry))
		for v.words[i].meta != 0 {
			i = (i + 1) % (1 << wordBits)
		}
		v.words[i] = wordSlot{key, uint32(len(entry))<<24 | (rank + 1)}
		return
	}
	offset := len(v.bytes)
	v.bytes = append(v.bytes, entry...)
	h := hashString(v.bytes[offset:])
	i := h >> (32 - stringBits)
	for v.strings[i].length != 0 {
		i = (i + 1) % (1 << stringBits)
	}
	v.strings[i] = stringSlot{h, uint32(offset), uint32(len(entry)), rank}
}

// rank answers the rank of text[i:j], none if it is no entry. j > i.
func (v *vocab) rank(text []byte, i, j int) uint32 {
	n := j - i
	if n > short {
		return v.rankString(text[i:j])
	}
	var key uint64
	if i+short <= len(text) {
		key = binary.LittleEndian.Uint64(text[i:]) & (^uint64(0) >> (64 - 8*uint(n)))
	} else {
		for k := n - 1; k >= 0; k-- {
			key = key<<8 | uint64(text[i+k])
		}
	}
	for h := hashWord(key, n); ; h = (h + 1) % (1 << wordBits) {
		slot := &v.words[h]
		if slot.key == key && slot.meta>>24 == uint32(n) {
			return slot.meta&0xffffff - 1
		}
		if slot.meta == 0 {
			return none
		}
	}
}

func (v *vocab) rankString(entry []byte) uint32 {
	if len(entry) > v.longest {
		return none
	}
	hash := hashString(entry)
	for i := hash >> (32 - stringBits); ; i = (i + 1) % (1 << stringBits) {
		slot := &v.strings[i]
		if slot.length == 0 {
			return none
		}
		if slot.hash == hash && slot.length == uint32(len(entry)) &&
			string(v.bytes[slot.offset:slot.offset+slot.length]) == string(entry) {
			return slot.rank
		}
	}
}

// The multipliers are odd and without pattern; nothing depends on which.
const (
	mixA = 0x9e3779b97f4a7c15
	mixB = 0xd6e8feb86659fd93
)

func hashWord(key uint64, n int) uint64 {
	hi, lo := bits.Mul64(key^mixB, mixA+uint64(n)<<1)
	return (hi ^ lo) >> (64 - wordBits)
}

// hashString hashes an entry of more than 8 bytes.
func hashString(entry []byte) uint32 {
	h := uint64(len(entry))
	i := 0
	for ; i+8 < len(entry); i += 8 {
		hi, lo := bits.Mul64(h^binary.LittleEndian.Uint64(entry[i:]), mixA)
		h = hi ^ lo
	}
	hi, lo := bits.Mul64(h^binary.LittleEndian.Uint64(entry[len(entry)-8:]), mixB)
	return uint32((hi ^ lo) >> 32)
}
