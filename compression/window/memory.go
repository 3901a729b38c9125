package window

import "sync/atomic"

// memory is a map of bounded size that forgets what was used least recently.
// get may be called by several readers at once; put needs the map for itself.
type memory[K comparable, V any] struct {
	limit int
	items map[K]*remembered[V]
	// uses counts all uses: the age of an item, without asking a clock.
	uses atomic.Int64
}

type remembered[V any] struct {
	value V
	used  atomic.Int64
}

func newMemory[K comparable, V any](limit int) *memory[K, V] {
	return &memory[K, V]{limit: limit, items: make(map[K]*remembered[V])}
}

// get answers what is remembered under k and marks it as used.
func (m *memory[K, V]) get(k K) (V, bool) {
	item, ok := m.items[k]
	if !ok {
		var zero V
		return zero, false
	}
	item.used.Store(m.uses.Add(1))
	return item.value, true
}

// put remembers v. Where the map is full it looks through all of it for the one
// to forget; it is small, and new keys are rare.
func (m *memory[K, V]) put(k K, v V) {
	if _, ok := m.items[k]; !ok && len(m.items) >= m.limit {
		var oldest K
		least := int64(-1)
		for k, item := range m.items {
			if used := item.used.Load(); least < 0 || used < least {
				oldest, least = k, used
			}
		}
		delete(m.items, oldest)
	}
	item := &remembered[V]{value: v}
	item.used.Store(m.uses.Add(1))
	m.items[k] = item
}
