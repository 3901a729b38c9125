package redisstore

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// Defaults of Config and Options.
const (
	DefaultRetention   = 168 * time.Hour
	DefaultDialTimeout = time.Second
	DefaultTimeout     = time.Second
)

// Config says where Redis is and how long to wait for it.
type Config struct {
	// URL names the server or servers; see ParseURL. Required.
	URL string
	// Retention is how long a conversation is kept after its last write. Zero:
	// DefaultRetention. Negative, or under a second: an error. It may be changed
	// at any time; each write applies the value of the replica that makes it.
	Retention time.Duration
	// DialTimeout bounds making a connection, within nine tenths of Timeout. Zero:
	// DefaultDialTimeout. Negative: an error.
	DialTimeout time.Duration
	// Timeout bounds a whole call: waiting for a connection, making one, asking
	// and, where that helps, asking again. Zero: DefaultTimeout. Negative: an
	// error. A server that accepts connections and answers nothing costs two such
	// waits, then the breaker is open.
	Timeout time.Duration
	// Keys encrypt the handoffs that are written and open those that are read. A
	// handoff that cannot be opened is as if it were not there. Nil: nothing is
	// encrypted. Store.SetKeys changes them.
	Keys *Keys
	// Logger hears when the breaker changes, when the server is not there at the
	// start, and of the first handoff that cannot be opened. Nil: nobody does.
	Logger *slog.Logger
}

// check reports everything that is wrong with c.
func (c Config) check() error {
	var problems []error
	if err := CheckURL(c.URL); err != nil {
		problems = append(problems, err)
	}
	if c.Retention != 0 && c.Retention < time.Second {
		problems = append(problems, fmt.Errorf("retention %v: at least a second is needed", c.Retention))
	}
	if c.DialTimeout < 0 {
		problems = append(problems, fmt.Errorf("dial timeout %v: must not be negative", c.DialTimeout))
	}
	if c.Timeout < 0 {
		problems = append(problems, fmt.Errorf("timeout %v: must not be negative", c.Timeout))
	}
	return errors.Join(problems...)
}

// Options is Config for a client that the caller made.
type Options struct {
	// Retention is as in Config. Zero, negative or under a second:
	// DefaultRetention.
	Retention time.Duration
	// Timeout is as in Config. Zero or negative: DefaultTimeout. The client's own
	// time-outs should not be shorter.
	Timeout time.Duration
	// Keys are as in Config.
	Keys *Keys
	// Logger is as in Config.
	Logger *slog.Logger
}

// withDefaults fills what is not set.
func (o Options) withDefaults() Options {
	if o.Retention < time.Second {
		o.Retention = DefaultRetention
	}
	if o.Timeout < 0 {
		o.Timeout = 0
	}
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}
