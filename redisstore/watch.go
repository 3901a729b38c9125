package redisstore

import (
	"context"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/foldgate/foldgate/ownership"
)

// Watch implements ownership.Store. All watches of a store share one connection
// for subscriptions; in a cluster, where a channel lives on one node, each
// watched conversation has its own. Connections are made, and made anew, in the
// background; after one was lost there is a hint, since something may have been
// missed meanwhile.
func (s *Store) Watch(ctx context.Context, key ownership.Key) <-chan struct{} {
	return s.hub.watch(ctx, eventsOf(key))
}

// hub hands hints to watchers.
type hub struct {
	connect func() *redis.PubSub
	sharded bool // a connection for each channel, else one for all

	mu     sync.Mutex
	closed bool
	lines  map[string]*line
	ended  chan struct{}  // closed with the hub
	wait   sync.WaitGroup // every goroutine that listens
}

// line is one connection and those who listen on it. Its own goroutine is the
// only one that talks to the server, so that no watch waits for a round trip.
type line struct {
	pubsub  *redis.PubSub
	sharded bool
	changed chan struct{} // holds at most one: look at channels again
	done    chan struct{} // closed when the last watcher left

	// Guarded by hub.mu.
	channels map[string]map[*watcher]struct{}
	// gaps are the channels whose next subscription is not their first, or comes
	// late: something may have been missed before it.
	gaps map[string]bool
}

type watcher struct{ hints chan struct{} }

// hint never blocks: one that waits to be taken says as much as two.
func (w *watcher) hint() {
	select {
	case w.hints <- struct{}{}:
	default:
	}
}

func newHub(client redis.UniversalClient) *hub {
	_, cluster := client.(*redis.ClusterClient)
	h := &hub{sharded: cluster, lines: map[string]*line{}, ended: make(chan struct{})}
	// Without a channel nothing is sent and nobody waited for; every later call on
	// the connection brings its own context.
	h.connect = func() *redis.PubSub {
		if cluster {
			return client.SSubscribe(context.Background())
		}
		return client.Subscribe(context.Background())
	}
	return h
}

// watch adds a watcher until ctx ends.
func (h *hub) watch(ctx context.Context, channel string) <-chan struct{} {
	w := &watcher{hints: make(chan struct{}, 1)}
	if !h.add(channel, w) {
		close(w.hints)
		return w.hints
	}
	context.AfterFunc(ctx, func() { h.remove(channel, w) })
	return w.hints
}

func (h *hub) lineOf(channel string) string {
	if h.sharded {
		return channel
	}
	return ""
}

// add reports whether the hub is still open.
func (h *hub) add(channel string, w *watcher) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return false
	}
	l := h.lines[h.lineOf(channel)]
	if l == nil {
		l = &line{
			pubsub:   h.connect(),
			sharded:  h.sharded,
			channels: map[string]map[*watcher]struct{}{},
			gaps:     map[string]bool{},
			changed:  make(chan struct{}, 1),
			done:     make(chan struct{}),
		}
		h.lines[h.lineOf(channel)] = l
		h.wait.Go(func() { h.subscribe(l) })
	}
	if l.channels[channel] == nil {
		l.channels[channel] = map[*watcher]struct{}{}
	}
	l.channels[channel][w] = struct{}{}
	l.look()
	return true
}

// remove closes the watcher's channel and, with the last watcher, the
// connection.
func (h *hub) remove(channel string, w *watcher) {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.lines[h.lineOf(channel)]
	if l == nil {
		return
	}
	if _, ok := l.channels[channel][w]; !ok {
		return
	}
	close(w.hints)
	delete(l.channels[channel], w)
	if len(l.channels[channel]) > 0 {
		return
	}
	delete(l.channels, channel)
	l.look()
	if len(l.channels) == 0 {
		delete(h.lines, h.lineOf(channel))
		close(l.done)
	}
}

// close ends all watches and waits for the hub's goroutines.
func (h *hub) close() {
	h.mu.Lock()
	h.closed = true
	close(h.ended)
	for name, l := range h.lines {
		for _, watchers := range l.channels {
			for w := range watchers {
				close(w.hints)
			}
		}
		clear(l.channels)
		close(l.done)
		delete(h.lines, name)
	}
	h.mu.Unlock()
	h.wait.Wait()
}

// start runs a goroutine that close waits for, unless the hub is closed.
func (h *hub) start(run func()) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return false
	}
	h.wait.Go(run)
	return true
}

func (l *line) look() {
	select {
	case l.changed <- struct{}{}:
	default:
	}
}

// subscribe brings the server's view of the line in step with what is watched.
// An error needs nothing here: go-redis keeps the names and subscribes to them
// when it connects again, and polling is the truth.
func (h *hub) subscribe(l *line) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	have := map[string]bool{}
	listening := false
	for {
		select {
		case <-l.done:
			_ = l.pubsub.Close()
			return
		case <-l.changed:
		}
		add, drop := h.difference(l, have)
		if len(add) > 0 && l.join(ctx, add) != nil {
			h.gap(l, add)
		}
		if !listening {
			// Only now: to listen is to connect, and in a cluster the first channel
			// decides to which node.
			listening = true
			h.wait.Go(func() { h.listen(l) })
		}
		if len(drop) > 0 {
			_ = l.leave(ctx, drop)
		}
	}
}

// gap marks channels whose subscription will come late.
func (h *hub) gap(l *line, channels []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, channel := range channels {
		l.gaps[channel] = true
	}
}

// difference compares what is watched with what was asked for, and updates the
// latter.
func (h *hub) difference(l *line, have map[string]bool) (add, drop []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for channel := range l.channels {
		if !have[channel] {
			have[channel] = true
			add = append(add, channel)
		}
	}
	for channel := range have {
		if _, ok := l.channels[channel]; !ok {
			delete(have, channel)
			delete(l.gaps, channel)
			drop = append(drop, channel)
		}
	}
	return add, drop
}

func (l *line) join(ctx context.Context, channels []string) error {
	if l.sharded {
		return l.pubsub.SSubscribe(ctx, channels...)
	}
	return l.pubsub.Subscribe(ctx, channels...)
}

func (l *line) leave(ctx context.Context, channels []string) error {
	if l.sharded {
		return l.pubsub.SUnsubscribe(ctx, channels...)
	}
	return l.pubsub.Unsubscribe(ctx, channels...)
}

// listen turns what arrives into hints, until the connection is closed.
func (h *hub) listen(l *line) {
	for m := range l.pubsub.ChannelWithSubscriptions() {
		switch m := m.(type) {
		case *redis.Message:
			h.hint(l, m.Channel)
		case *redis.Subscription:
			if m.Kind == "subscribe" || m.Kind == "ssubscribe" {
				h.subscribed(l, m.Channel)
			}
		}
	}
}

func (h *hub) hint(l *line, channel string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for w := range l.channels[channel] {
		w.hint()
	}
}

// subscribed notes that a channel is heard from now on.
func (h *hub) subscribed(l *line, channel string) {
	h.mu.Lock()
	missed := l.gaps[channel]
	if l.channels[channel] != nil {
		l.gaps[channel] = true
	}
	h.mu.Unlock()
	if missed {
		h.hint(l, channel)
	}
}
