package memstore

import (
	"context"
	"sync"

	"github.com/foldgate/foldgate/ownership"
)

// hub carries hints to those who watch. The zero hub is ready.
type hub struct {
	mu       sync.Mutex
	watchers map[ownership.Key]map[chan struct{}]struct{}
}

// Watch implements ownership.Store. It needs no goroutine while nothing happens.
func (s *Store) Watch(ctx context.Context, key ownership.Key) <-chan struct{} {
	ch := make(chan struct{}, 1)
	s.hub.add(key, ch)
	context.AfterFunc(ctx, func() { s.hub.remove(key, ch) })
	return ch
}

func (h *hub) add(key ownership.Key, ch chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.watchers == nil {
		h.watchers = make(map[ownership.Key]map[chan struct{}]struct{})
	}
	if h.watchers[key] == nil {
		h.watchers[key] = make(map[chan struct{}]struct{})
	}
	h.watchers[key][ch] = struct{}{}
}

// remove closes ch. Sends happen under the same lock, so none meets a closed one.
func (h *hub) remove(key ownership.Key, ch chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.watchers[key], ch)
	if len(h.watchers[key]) == 0 {
		delete(h.watchers, key)
	}
	close(ch)
}

// notify hints at key; a hint that was not taken yet stands for this one too.
func (h *hub) notify(key ownership.Key) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for ch := range h.watchers[key] {
		hint(ch)
	}
}

// all hints at every conversation.
func (h *hub) all() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, chans := range h.watchers {
		for ch := range chans {
			hint(ch)
		}
	}
}

func hint(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}
