package middleware

import (
	"errors"
	"io"
	"math/bits"
	"net/http"
	"sync"
	"sync/atomic"
)

// A body of half a megabyte costs more to clear and to collect than to read, so
// the memory of bodies is used again. Who would use it while another still reads
// it would hand one tenant's bytes to another; therefore:
//
//   - A slab counts those who may look at its bytes: the request itself, and each
//     lentBody that is not closed. The last one gives it back.
//   - A lentBody copies out, under a lock, or holds the memory while it writes, and
//     has nothing to give once it is closed. What the transport still sends when the
//     response is over (an upstream that answers early) it reads as long as it has not
//     closed it.
//   - A body that an attempt reads, which may outlive its request, is never used
//     again (keep), nor one of which no form is smaller, so that it leaves as it was
//     decoded, nor one that somebody forgot to close: the collector takes it.
//   - What is kept of a body beyond its request (names, counts, handoffs, spans) is
//     a copy.

// Capacities of slabs: four to a doubling, from leastSlab to mostSlab. Smaller
// bodies are not worth it, larger ones are rare.
const (
	leastSlabBits = 15
	leastSlab     = 1 << leastSlabBits
	mostSlab      = 4 << 20
	slabClasses   = 4*(22-leastSlabBits) + 1
)

// slab is the memory of one body. Its bytes are buf[:len(buf)]. The memory is used
// again, the slab is not: whoever still has it when its request is over, as a GetBody
// that was kept, finds nothing in it, and not the body of the next request.
type slab struct {
	buf   []byte
	whole []byte // buf with all its capacity
	class int    // -1: never used again
	users atomic.Int32
}

var slabs [slabClasses]sync.Pool // of *[]byte

// slabSize is how much memory a slab for n bytes has, and its class.
func slabSize(n int64) (size int64, class int) {
	if n < leastSlab || n > mostSlab {
		return n, -1
	}
	doubling := bits.Len64(uint64(n)) - 1
	step := int64(1) << (doubling - 2)
	quarter := (n - 1<<doubling + step - 1) / step
	return 1<<doubling + quarter*step, 4*(doubling-leastSlabBits) + int(quarter)
}

// newSlab has room for exactly n bytes and one user.
func newSlab(n int64) *slab {
	size, class := slabSize(n)
	s := &slab{class: class}
	if class >= 0 {
		if whole, ok := slabs[class].Get().(*[]byte); ok {
			s.whole = *whole
		}
	}
	if s.whole == nil {
		s.whole = make([]byte, 0, size)
	}
	s.buf = s.whole[:0:n]
	s.users.Store(1)
	return s
}

// size is how much memory it has.
func (s *slab) size() int64 { return int64(cap(s.whole)) }

// scrub is called with memory that is about to be used again. For tests.
var scrub = func([]byte) {}

// drop ends one use.
func (s *slab) drop() {
	if s.users.Add(-1) != 0 || s.class < 0 {
		return
	}
	whole := s.whole
	s.buf, s.whole = nil, nil
	scrub(whole[:cap(whole)])
	slabs[s.class].Put(&whole)
}

// use begins another one; false when there is none left.
func (s *slab) use() bool {
	for {
		n := s.users.Load()
		if n <= 0 {
			return false
		}
		if s.users.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// keep has the memory never used again. Only who uses it may call it.
func (s *slab) keep() { s.class = -1 }

// sameMemory reports whether two slices begin with the same byte.
func sameMemory(a, b []byte) bool { return len(a) > 0 && len(b) > 0 && &a[0] == &b[0] }

// lentBody is a body in memory for the next handler.
type lentBody struct {
	mu   sync.Mutex
	rest []byte
	slab *slab // nil: closed
}

var errLentTooLate = errors.New("middleware: the body of a request that is over")

// lend is a body of what s holds.
func (s *slab) lend() (io.ReadCloser, error) {
	if !s.use() {
		return nil, errLentTooLate
	}
	return &lentBody{rest: s.buf, slab: s}, nil
}

// Read copies out.
func (b *lentBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.slab == nil:
		return 0, http.ErrBodyReadAfterClose
	case len(b.rest) == 0:
		return 0, io.EOF
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

// WriteTo writes the rest at once. The memory stays for as long as that takes, also
// where the body is closed meanwhile.
func (b *lentBody) WriteTo(w io.Writer) (int64, error) {
	b.mu.Lock()
	rest, s := b.rest, b.slab
	if s == nil {
		b.mu.Unlock()
		return 0, http.ErrBodyReadAfterClose
	}
	b.rest = nil
	s.users.Add(1) // there is one, this body
	b.mu.Unlock()
	defer s.drop()
	n, err := w.Write(rest)
	return int64(n), err
}

// Close gives the memory back. It may be called more than once.
func (b *lentBody) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.slab != nil {
		s := b.slab
		b.rest, b.slab = nil, nil
		s.drop()
	}
	return nil
}
