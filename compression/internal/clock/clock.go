// Package clock is a bounded map that forgets what was not asked for lately. It
// costs a bit for each entry where a list of uses costs two pointers: one bit says
// whether the entry was read since the hand went by last, and the hand takes the
// first that was not.
//
// Bounded are the number of entries and the sum of their weights, whatever these
// count. Nothing here locks: whoever shares a Map brings a mutex.
package clock

// Map maps K to V. The zero value is not usable; see New.
type Map[K comparable, V any] struct {
	index   map[K]int32
	slots   []slot[K, V]
	hand    int
	weight  int
	entries int // the most there are
	weights int // the most that they weigh together
}

type slot[K comparable, V any] struct {
	key    K
	value  V
	weight int32
	used   bool
}

// New makes a Map of at most so many entries, at least one, that weigh at most so
// much together; both below 2^31.
func New[K comparable, V any](entries, weights int) *Map[K, V] {
	return &Map[K, V]{index: make(map[K]int32), entries: max(entries, 1), weights: weights}
}

// Get is the value of k, valid until the next Put; nil where there is none. Who
// changes what it points to changes the entry, but not its weight.
func (m *Map[K, V]) Get(k K) *V {
	i, ok := m.index[k]
	if !ok {
		return nil
	}
	m.slots[i].used = true
	return &m.slots[i].value
}

// Put adds an entry in the place of others. It does nothing where k is there, or
// where the entry alone weighs too much.
func (m *Map[K, V]) Put(k K, v V, weight int) {
	if _, ok := m.index[k]; ok || weight > m.weights {
		return
	}
	for len(m.slots) == m.entries || m.weight+weight > m.weights {
		m.evict()
	}
	m.index[k] = int32(len(m.slots))                                               //nolint:gosec // bounded by entries
	m.slots = append(m.slots, slot[K, V]{key: k, value: v, weight: int32(weight)}) //nolint:gosec // bounded by weights
	m.weight += weight
}

// evict forgets the first entry from the hand on that was not used, and puts the
// last one in its place.
func (m *Map[K, V]) evict() {
	for {
		if m.hand >= len(m.slots) {
			m.hand = 0
		}
		if !m.slots[m.hand].used {
			break
		}
		m.slots[m.hand].used = false
		m.hand++
	}
	last := len(m.slots) - 1
	m.weight -= int(m.slots[m.hand].weight)
	delete(m.index, m.slots[m.hand].key)
	if m.hand != last {
		m.slots[m.hand] = m.slots[last]
		m.index[m.slots[m.hand].key] = int32(m.hand) //nolint:gosec // bounded by entries
	}
	m.slots[last] = slot[K, V]{}
	m.slots = m.slots[:last]
	m.hand++
}

// Size is how many entries there are, and what they weigh together.
func (m *Map[K, V]) Size() (entries, weight int) { return len(m.slots), m.weight }
