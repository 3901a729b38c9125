package redisstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// poolSize bounds the connections to one server. A call holds one for a round
// trip, well under a millisecond on a healthy network, so this many serve some
// ten thousand calls a second; and it bounds how many calls can wait at once for
// a server that hangs.
const poolSize = 32

// connect makes the client. It asks no server.
func connect(o *redis.UniversalOptions, c Config) redis.UniversalClient {
	o.ClientName = "foldgate"
	// RESP2: scripts answer the same in both, and nothing is pushed onto the
	// connections that commands use.
	o.Protocol = 2
	o.DisableIdentity = true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}

	// Repeats are made in run.go, where it is known which error was the last and
	// whether an earlier try may have been executed. A dial is not repeated
	// either: the client's own five would outlast Timeout.
	o.MaxRetries = -1
	o.DialerRetries = 1

	// Without this a context would not bound reads from a socket; each call
	// carries one that ends after Timeout.
	o.ContextTimeoutEnabled = true
	// A dial ends before the call does, so that a server which cannot be reached is
	// known not to have been asked.
	o.DialTimeout = min(c.DialTimeout, c.Timeout*9/10)
	o.ReadTimeout = c.Timeout
	o.WriteTimeout = c.Timeout
	o.PoolTimeout = c.Timeout
	o.PoolSize = poolSize
	o.ConnMaxIdleTime = 5 * time.Minute

	// Reads go to the master too: a replica may not know the owner yet.
	o.ReadOnly = false
	o.RouteByLatency = false
	o.RouteRandomly = false

	switch {
	case o.MasterName != "":
		client := redis.NewFailoverClient(o.Failover())
		client.AddHook(witness{})
		return client
	case o.IsClusterMode || len(o.Addrs) > 1:
		cluster := o.Cluster()
		// Redirects are followed. A cluster client repeats some errors within the
		// same bound; the witness on each node sees every try.
		cluster.MaxRedirects = 3
		cluster.MinRetryBackoff, cluster.MaxRetryBackoff = 20*time.Millisecond, 100*time.Millisecond
		// Only keyed scripts are sent, so the node follows from the key alone and
		// the client need not ask the servers for their command tables.
		cluster.DisableRoutingPolicies = true
		client := redis.NewClusterClient(cluster)
		client.OnNewNode(func(node *redis.Client) { node.AddHook(witness{}) })
		return client
	default:
		client := redis.NewClient(o.Simple())
		client.AddHook(witness{})
		return client
	}
}

// account is what the tries of one call left behind.
type account struct {
	// unanswered: at least one try may have been executed without its answer
	// coming back.
	unanswered bool
}

type accountKey struct{}

// witness is a hook that sees each single try, below the redirects and repeats
// of a cluster client, and writes into the call's account.
type witness struct{}

// DialHook marks what went wrong before there was a connection, a TLS handshake
// included.
func (witness) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := next(ctx, network, addr)
		if err != nil {
			return nil, &dialError{err}
		}
		return conn, nil
	}
}

func (witness) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		note(ctx, err)
		return err
	}
}

func (witness) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		note(ctx, err)
		return err
	}
}

func note(ctx context.Context, err error) {
	if a, ok := ctx.Value(accountKey{}).(*account); ok && maybeExecuted(err) {
		a.unanswered = true
	}
}

// maybeExecuted reports whether a single try that ended in err may have reached
// the server and run there. In doubt it may have.
func maybeExecuted(err error) bool {
	var answer redis.Error
	switch {
	case err == nil, errors.As(err, &answer):
		return false
	case errors.Is(err, redis.ErrClosed), errors.Is(err, redis.ErrPoolTimeout), errors.Is(err, redis.ErrPoolExhausted):
		return false
	}
	return !isDial(err)
}

// dialError is a connection that was not made.
type dialError struct{ error }

func (e *dialError) Unwrap() error { return e.error }

func isDial(err error) bool {
	var marked *dialError
	var op *net.OpError
	return errors.As(err, &marked) || errors.As(err, &op) && op.Op == "dial"
}

// SetClientLogger sends what the Redis client itself wants to say, such as failed
// attempts to connect, to log as debug messages, instead of to standard error.
// The client has one such place for the whole process, so this is for main to
// call, once, before anything else here.
func SetClientLogger(log *slog.Logger) { redis.SetLogger(clientLog{log}) }

type clientLog struct{ log *slog.Logger }

func (l clientLog) Printf(ctx context.Context, format string, args ...any) {
	if l.log.Enabled(ctx, slog.LevelDebug) {
		l.log.LogAttrs(ctx, slog.LevelDebug, "redis client", slog.String("message", fmt.Sprintf(format, args...)))
	}
}
