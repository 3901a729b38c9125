package compression

import (
	"encoding/binary"
	"hash/maphash"
	"slices"
	"sync/atomic"
)

// runBytes is how long the messages of a run are together, unless one is longer
// or they end: enough that few runs are asked for a term, and little enough that
// few messages are read again when the covered part grows.
const runBytes = 64 << 10

// run is what recall knows of messages that follow one another: where their
// passages are, and the terms of each. A term stands as a hash under a key that
// nobody knows, so a run holds no text. It never changes, but for costs.
type run struct {
	passages []passage
	lengths  []int32         // terms of each passage, all of them
	costs    []atomic.Uint32 // of each passage, see quotationCost; 0: not counted yet
	hashes   []uint64        // of the terms, rising
	starts   []uint32        // of each term in posts, and where the last one's end
	posts    []posting       // of the first term, of the second, ...; each rising
}

// posting is a passage that holds a term, by its number in the run, and how often.
type posting uint32

// postTimes is the bits for how often: 700 bytes hold no term a thousand times.
const (
	postTimes     = 10
	passagesOfOne = 1 << (32 - postTimes) // passages of a run; what is beyond is not found
)

func newPosting(number int) posting { return posting(number)<<postTimes | 1 } //nolint:gosec // below passagesOfOne

func (p posting) number() int  { return int(p >> postTimes) }
func (p posting) times() int64 { return int64(p & (1<<postTimes - 1)) }

// again is the posting with the term once more.
func (p posting) again() posting {
	if p.times() == 1<<postTimes-1 {
		return p
	}
	return p + 1
}

// of is the passages that hold a term.
func (r *run) of(hash uint64) []posting {
	i, ok := slices.BinarySearch(r.hashes, hash)
	if !ok {
		return nil
	}
	return r.posts[r.starts[i]:r.starts[i+1]]
}

// weight is about how many bytes it takes.
func (r *run) weight() int {
	return 200 + 20*len(r.passages) + 12*len(r.hashes) + 4*len(r.posts)
}

// eachRun visits what is known of the first covered messages, run by run. Where a
// run ends depends on nothing behind it, so a longer part has the same ones.
func (v *View) eachRun(covered int, visit func(*run)) {
	for p := 0; p < covered; {
		size, end := 0, p
		for ; end < covered && size < runBytes; end++ {
			size += v.Messages[v.Head+end].Span.Len()
		}
		visit(v.run(p, end))
		p = end
	}
}

// run is what recall knows of the messages from p up to end. It depends on their
// bytes, and on their place, which their labels tell.
func (v *View) run(p, end int) *run {
	name := binary.AppendUvarint(make([]byte, 0, 16*(end-p+1)), uint64(p)) //nolint:gosec // not negative
	for i := p; i < end; i++ {
		v.fact(v.Head+i, knowsDigest) // and its key
		name = append(name, v.keys[v.Head+i][:]...)
	}
	key := v.memo.keyOf(kindRun, name)
	known := v.memo.choices.runs
	if r := known.get(key); r != nil {
		return r
	}
	x := known.indexer()
	for i := p; i < end; i++ {
		x.read(int32(i), v.told(i)) //nolint:gosec // messages are few
	}
	r := x.run()
	known.put(key, r)
	known.free(x)
	return r
}

// indexer makes a run. It is used again for the next, since what it needs by the
// way is more than what it makes.
type indexer struct {
	seed     maphash.Seed
	slots    []slot // by the first bits of the hash, else behind; a power of two
	bits     int
	terms    []indexed
	found    []found // in the order of the passages
	passages []passage
	lengths  []int32
	folds    []byte
}

type slot struct {
	hash uint64
	term int32 // its number and one; 0: free
}

type indexed struct {
	hash  uint64
	count uint32 // passages that hold it
	last  int32  // the newest of them in found
	next  uint32 // where its next posting goes
}

type found struct {
	term int32
	post posting
}

func newIndexer(seed maphash.Seed) *indexer {
	return &indexer{seed: seed, slots: make([]slot, 1<<12), bits: 12}
}

// read takes the passages of what a message says.
func (x *indexer) read(message int32, text string) {
	passages(text, func(start, end int) {
		number, length := len(x.passages), int32(0)
		if number == passagesOfOne {
			return
		}
		eachTerm(text[start:end], func(t string, _ termKind) {
			length++
			x.folds = folded(x.folds[:0], t)
			x.note(maphash.Bytes(x.seed, x.folds), number)
		})
		x.passages = append(x.passages, passage{message, int32(start), int32(end)}) //nolint:gosec // so long is no message
		x.lengths = append(x.lengths, length)
	})
}

// note takes a term of a passage.
func (x *indexer) note(hash uint64, number int) {
	s := x.slot(hash)
	if s.term == 0 {
		x.terms = append(x.terms, indexed{hash: hash, last: -1})
		s.hash, s.term = hash, int32(len(x.terms)) //nolint:gosec // fewer than bytes of the messages
		if 2*len(x.terms) > len(x.slots) {
			x.grow()
			s = x.slot(hash)
		}
	}
	t := &x.terms[s.term-1]
	if t.last >= 0 && x.found[t.last].post.number() == number {
		x.found[t.last].post = x.found[t.last].post.again()
		return
	}
	t.count++
	t.last = int32(len(x.found)) //nolint:gosec // fewer than bytes of the messages
	x.found = append(x.found, found{s.term - 1, newPosting(number)})
}

// slot is where a hash stands, or may stand.
func (x *indexer) slot(hash uint64) *slot {
	for i := hash >> (64 - x.bits); ; i = (i + 1) & uint64(len(x.slots)-1) {
		if s := &x.slots[i]; s.term == 0 || s.hash == hash {
			return s
		}
	}
}

func (x *indexer) grow() {
	x.bits++
	x.slots = make([]slot, 1<<x.bits)
	for i := range x.terms {
		s := x.slot(x.terms[i].hash)
		s.hash, s.term = x.terms[i].hash, int32(i+1) //nolint:gosec // fewer than bytes of the messages
	}
}

// run is what was read, after which the indexer is as new.
func (x *indexer) run() *run {
	r := &run{
		passages: slices.Clone(x.passages),
		lengths:  slices.Clone(x.lengths),
		costs:    make([]atomic.Uint32, len(x.passages)),
		hashes:   make([]uint64, 0, len(x.terms)),
		starts:   make([]uint32, 1, len(x.terms)+1),
		posts:    make([]posting, len(x.found)),
	}
	at := uint32(0)
	for _, s := range x.sorted() {
		t := &x.terms[s.term-1]
		t.next = at
		at += t.count
		r.hashes, r.starts = append(r.hashes, s.hash), append(r.starts, at)
	}
	for _, f := range x.found {
		t := &x.terms[f.term]
		r.posts[t.next] = f.post
		t.next++
	}
	clear(x.slots)
	x.terms, x.found, x.passages, x.lengths = x.terms[:0], x.found[:0], x.passages[:0], x.lengths[:0]
	return r
}

// sorted is the slots that are taken, by rising hash. They stand nearly so already.
func (x *indexer) sorted() []slot {
	all := x.slots[:0]
	for _, s := range x.slots {
		if s.term != 0 {
			all = append(all, s)
		}
	}
	for i := 1; i < len(all); i++ {
		s, j := all[i], i
		for ; j > 0 && all[j-1].hash > s.hash; j-- {
			all[j] = all[j-1]
		}
		all[j] = s
	}
	return all
}
