package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/foldgate/foldgate/ownership"
	"github.com/foldgate/foldgate/ownership/ownershiptest/history"
	"github.com/foldgate/foldgate/redisstore"
	"github.com/foldgate/foldgate/redisstore/redistest"
)

// What eight replicas are answered at once, some order of their calls explains,
// while replies vanish and linger, connections break, and the server is frozen,
// emptied, short of memory, killed and started again, empty or with what it was
// some calls ago.
func TestLinearizable(t *testing.T) {
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr)
	h := &havoc{t: t, server: server, proxy: proxy, caused: map[string]int{}}
	report := history.Run(t, history.Config{
		Open: func() []ownership.Store {
			// Half of them go through the proxy, so that they are cut off alone.
			stores := make([]ownership.Store, 0, history.MinClients)
			for i := range history.MinClients {
				stores = append(stores, replica(t, []string{server.Addr, proxy.Addr}[i%2]))
			}
			return stores
		},
		Ops: history.OpsFromEnv(t, 8000), Lost: 2, Faults: h, Skew: time.Millisecond,
	})
	t.Log(report)
	t.Logf("faults: %v", h.caused)
	report.WantAnswers(t, history.Decisions()...)
	for _, f := range faults() {
		if h.caused[f.name] == 0 {
			t.Errorf("never caused: %s", f.name)
		}
	}
}

// replica is a store as Open makes it, over a client that tells the checker of
// every try.
func replica(t *testing.T, addr string) *redisstore.Store {
	const timeout = 250 * time.Millisecond
	client := redis.NewClient(&redis.Options{
		Addr: addr, Protocol: 2, DisableIdentity: true, MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true,
		DialTimeout: timeout, ReadTimeout: timeout, WriteTimeout: timeout, PoolTimeout: timeout,
	})
	client.AddHook(observer{})
	s := redisstore.New(client, redisstore.Options{Timeout: timeout})
	t.Cleanup(func() {
		if err := errors.Join(s.Close(), client.Close()); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// observer is a hook that tells the checker of every try: a store asks again by
// itself, and each try may have run.
type observer struct{}

// undialed is a connection that was not made.
type undialed struct{ error }

func (e undialed) Unwrap() error { return e.error }

func (observer) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := next(ctx, network, addr)
		if err != nil {
			return nil, undialed{err}
		}
		return conn, nil
	}
}

func (observer) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (observer) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		// A connection that is made for a script has commands of its own.
		if name := cmd.Name(); name != "evalsha" && name != "eval" {
			return next(ctx, cmd)
		}
		answered, ok := history.Try(ctx)
		if !ok {
			// Nothing was sent, and there is no use in trying again.
			cmd.SetErr(redis.ErrPoolTimeout)
			return redis.ErrPoolTimeout
		}
		err := next(ctx, cmd)
		var reply redis.Error
		var none undialed
		answered(err == nil || errors.As(err, &reply) || errors.As(err, &none) || errors.Is(err, redis.ErrPoolTimeout))
		return err
	}
}

// havoc causes one fault after another, each in its turn as long as the round can
// afford what it may cost.
type havoc struct {
	t      *testing.T
	server *redistest.Server
	proxy  *redistest.Proxy
	turn   int
	caused map[string]int
}

type fault struct {
	name string
	cost int // how many answers may fail to come
	do   func(*havoc, *history.Fault)
}

func faults() []fault {
	const all, half = history.MinClients, history.MinClients / 2
	return []fault{
		{"reply lost", 1, func(h *havoc, _ *history.Fault) { h.lose(1) }},
		{"counter evicted", 0, func(h *havoc, f *history.Fault) {
			f.EvictCounter(func(key ownership.Key) { h.server.Do("DEL", "foldgate:1:{"+string(key)+"}:gen") })
		}},
		{"connections cut", half, func(h *havoc, _ *history.Fault) { h.proxy.Cut() }},
		{"scripts forgotten", 0, func(h *havoc, _ *history.Fault) { h.server.Do("SCRIPT", "FLUSH") }},
		{"replies lost in a row", 3, func(h *havoc, _ *history.Fault) { h.lose(3) }},
		{"replies late", half, func(h *havoc, f *history.Fault) {
			h.proxy.Hold()
			f.After(20) // of the others
			h.proxy.Release()
		}},
		{"flushed", 0, func(h *havoc, f *history.Fault) { f.Wipe(h.server.FlushAll) }},
		{"replies too late", half, func(h *havoc, f *history.Fault) {
			h.proxy.Hold()
			f.AwaitLoss()
			h.proxy.Release()
		}},
		{"frozen", all, func(h *havoc, f *history.Fault) {
			h.server.Pause()
			f.AwaitLoss()
			h.server.Resume()
		}},
		{"out of memory", 0, func(h *havoc, f *history.Fault) {
			h.server.Do("CONFIG", "SET", "maxmemory", "1")
			f.AwaitLoss()
			h.server.Do("CONFIG", "SET", "maxmemory", "0")
		}},
		// What goes through the proxy finds a connection but no server, each time.
		{"killed", all, func(h *havoc, f *history.Fault) {
			goOn := f.Stop()
			defer goOn()
			f.Wipe(h.server.Restart)
		}},
		// As in a failover that loses the last writes: the server comes back with what
		// it was some calls ago.
		{"fallen back", all, func(h *havoc, f *history.Fault) {
			f.Keep(func() { h.server.Do("SAVE") })
			f.After(60)
			goOn := f.Stop()
			defer goOn()
			f.FallBack(h.server.Restart)
			h.forget()
		}},
	}
}

func (h *havoc) lose(n int) {
	for len(h.proxy.Lost()) > 0 {
		<-h.proxy.Lost()
	}
	h.proxy.LoseReplies(n)
}

// forget removes what the server saved, so that it comes back empty the next time.
func (h *havoc) forget() {
	h.t.Helper()
	place := map[string]string{}
	for _, name := range []string{"dir", "dbfilename"} {
		pair, ok := h.server.Do("CONFIG", "GET", name).([]any)
		if !ok || len(pair) != 2 {
			h.t.Fatalf("configuration of %s: %v", name, pair)
		}
		place[name] = fmt.Sprint(pair[1])
	}
	if err := os.Remove(filepath.Join(place["dir"], place["dbfilename"])); err != nil {
		h.t.Fatalf("remove what was saved: %v", err)
	}
}

func (h *havoc) Inject(f *history.Fault) {
	all := faults()
	next := all[h.turn%len(all)]
	if !f.Affords(next.cost) {
		return // its turn comes in the next round
	}
	h.turn++
	h.caused[next.name]++
	next.do(h, f)
}

func (h *havoc) Heal() {
	h.proxy.LoseReplies(0)
	h.proxy.Release()
}
