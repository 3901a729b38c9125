package tokens

// scanLimit is the length up to which a piece is merged by scanning for the
// lowest rank. Above it the pairs are kept in a heap: the scan takes quadratic
// time, but for short pieces less of it.
const scanLimit = 96

// maxPiece is the longest run that is merged as one, which bounds the memory of
// a count. No written text comes near it.
const maxPiece = 1 << 20

// keepScratch is the number of bytes of a piece up to which the heap's memory
// is kept for the next count.
const keepScratch = 1 << 16

// scratch is the memory of one count.
type scratch struct {
	starts [scanLimit + 1]int
	ranks  [scanLimit + 1]uint32
	links  []link
	first  []uint64 // the pairs of bytes, sorted
	spare  []uint64 // for sorting; then the heap of the pairs that merging makes
}

// link is a part of a piece in the heap's merge, by the position of its start.
type link struct {
	prev, next int32
	rank       uint32 // of the pair that this part makes with the next
}

// merge answers how many tokens the piece text[i:j] makes: byte pair encoding,
// which always merges the leftmost pair of lowest rank.
func (c *Counter) merge(s *scratch, text []byte, i, j int) int {
	n := 0
	for j-i > maxPiece {
		n += c.mergeHeap(s, text[i:i+maxPiece])
		i += maxPiece
	}
	if j-i > scanLimit {
		return n + c.mergeHeap(s, text[i:j])
	}
	return n + c.mergeScan(s, text, i, j)
}

func (c *Counter) mergeScan(s *scratch, text []byte, i, j int) int {
	n := j - i // parts; part k begins at starts[k], starts[n] is the end
	for k := range n {
		s.starts[k] = i + k
		if k+1 < n {
			s.ranks[k] = c.vocab.pairs[uint(text[i+k])<<8|uint(text[i+k+1])]
		}
	}
	s.starts[n] = j
	for n > 1 {
		low, at := none, 0
		for k, r := range s.ranks[:n-1] {
			if r < low {
				low, at = r, k
			}
		}
		if low == none {
			break
		}
		copy(s.starts[at+1:n], s.starts[at+2:n+1])
		copy(s.ranks[at:n-2], s.ranks[at+1:n-1])
		n--
		if at > 0 {
			s.ranks[at-1] = c.vocab.rank(text, s.starts[at-1], s.starts[at+1])
		}
		if at+1 < n {
			s.ranks[at] = c.vocab.rank(text, s.starts[at], s.starts[at+2])
		}
	}
	return n
}

// mergeHeap keeps every pair as rank<<32 | start, so that the least is the next
// to merge. The pairs of single bytes, which are most, are sorted once; only
// what merging makes goes through a heap.
func (c *Counter) mergeHeap(s *scratch, piece []byte) int {
	n := len(piece)
	first := c.firstPairs(s, piece)
	links, h := s.links, s.spare[:0]
	count := n
	for len(first) > 0 || len(h) > 0 {
		var top uint64
		if len(first) == 0 || len(h) > 0 && h[0] < first[0] {
			top = h[0]
			h = pop(h)
		} else {
			top = first[0]
			first = first[1:]
		}
		at := int32(uint32(top))
		if links[at].rank != uint32(top>>32) {
			continue // the pair is gone, or has grown
		}
		gone := links[at].next
		next := links[gone].next
		links[gone].rank = none
		links[at].next = next
		if int(next) < n {
			links[next].prev = at
		}
		count--
		h = c.renew(links, piece, at, h)
		if prev := links[at].prev; prev >= 0 {
			h = c.renew(links, piece, prev, h)
		}
	}
	if n > keepScratch {
		s.links, s.first, s.spare = nil, nil, nil
	}
	return count
}

// renew looks up what the part at position at makes with the next one now.
func (c *Counter) renew(links []link, piece []byte, at int32, h []uint64) []uint64 {
	links[at].rank = none
	next := int(links[at].next)
	if next >= len(piece) {
		return h
	}
	rank := c.vocab.rank(piece, int(at), int(links[next].next))
	if rank == none {
		return h
	}
	links[at].rank = rank
	return push(h, uint64(rank)<<32|uint64(at))
}

// firstPairs links the bytes of a piece and answers their pairs, sorted.
func (c *Counter) firstPairs(s *scratch, piece []byte) []uint64 {
	n := len(piece)
	if cap(s.links) < n {
		s.links = make([]link, n)
		s.first = make([]uint64, n)
		s.spare = make([]uint64, n)
	}
	s.links = s.links[:n]
	pairs := s.first[:0]
	for k := range n {
		rank := none
		if k+1 < n {
			rank = c.vocab.pairs[uint(piece[k])<<8|uint(piece[k+1])]
		}
		s.links[k] = link{int32(k - 1), int32(k + 1), rank}
		if rank != none {
			pairs = append(pairs, uint64(rank)<<32|uint64(k))
		}
	}
	// By rank in two stable passes; by start they are sorted already.
	spare := s.spare[:len(pairs)]
	radix(spare, pairs, 32)
	radix(pairs, spare, 32+radixBits)
	return pairs
}

// radixBits is half the bits of a rank.
const radixBits = 9

// radix sorts from into to by the radixBits bits at shift.
func radix(to, from []uint64, shift int) {
	var starts [1 << radixBits]int
	for _, x := range from {
		starts[x>>shift%(1<<radixBits)]++
	}
	sum := 0
	for i, n := range starts {
		starts[i] = sum
		sum += n
	}
	for _, x := range from {
		i := x >> shift % (1 << radixBits)
		to[starts[i]] = x
		starts[i]++
	}
}

// A heap of four children per node: half the levels of a binary one, and the
// children share a cache line.

func push(h []uint64, x uint64) []uint64 {
	h = append(h, x)
	i := len(h) - 1
	for i > 0 {
		parent := (i - 1) / 4
		if h[parent] <= x {
			break
		}
		h[i] = h[parent]
		i = parent
	}
	h[i] = x
	return h
}

func pop(h []uint64) []uint64 {
	last := len(h) - 1
	h[0] = h[last]
	h = h[:last]
	if last > 1 {
		down(h, 0)
	}
	return h
}

func down(h []uint64, i int) {
	x := h[i]
	for {
		child := 4*i + 1
		if child >= len(h) {
			break
		}
		least := child
		for k := child + 1; k < min(child+4, len(h)); k++ {
			if h[k] < h[least] {
				least = k
			}
		}
		if h[least] >= x {
			break
		}
		h[i] = h[least]
		i = least
	}
	h[i] = x
}
