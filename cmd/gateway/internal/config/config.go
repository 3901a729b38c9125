package config

import (
	"log/slog"
	"time"

	"github.com/foldgate/foldgate/compression/window"
)

// Mode is what the gateway does with chat requests.
type Mode string

// The modes.
const (
	ModeFold    Mode = "fold"    // fold what is too long
	ModeObserve Mode = "observe" // decide and report, forward the original
	ModeOff     Mode = "off"     // a plain proxy
)

// LogFormat is how log lines are written.
type LogFormat string

// The log formats.
const (
	LogAuto LogFormat = "auto" // text on a terminal, else JSON
	LogText LogFormat = "text"
	LogJSON LogFormat = "json"
)

// Config is the whole configuration. Default returns the one that nobody
// changed; the zero Config is not usable. Negative numbers are problems
// everywhere. It is read-only once loaded, and so safe for concurrent use.
type Config struct {
	// Listen is the address of the data plane, host:port. Default
	// 127.0.0.1:8080. Port 0 takes a free one, an empty host all addresses.
	Listen string
	// AdminListen is the address of the admin plane. Default 127.0.0.1:9090. An
	// address that is not loopback needs AdminToken.
	AdminListen string
	// AdminHosts are further names and addresses under which the admin plane
	// may be asked. Default none.
	AdminHosts []string
	// AdminToken is the bearer of the admin plane. Default none: then what would
	// show or change a conversation's content is refused there.
	AdminToken Secret
	// Upstream is the base URL of the API. Required. http or https, without
	// credentials, query and fragment.
	Upstream string
	// Mode is what is done with chat requests. Default ModeFold.
	Mode Mode
	// RedisURL names the shared store. Default empty: a store in the process,
	// right for one replica. It may hold a password, hence a Secret.
	RedisURL Secret
	// StoreKeys encrypt handoffs in the shared store, as redisstore.ParseKeys reads
	// them: id=key, the first writes, all of them read, the word plain stands for
	// handoffs that are not encrypted. Default none: nothing is encrypted.
	StoreKeys Secret
	// Windows are the configured windows, the longest matching glob wins.
	// Default none.
	Windows []window.Rule
	// DefaultWindow is the window of every model that nothing else knows.
	// Default 0: unknown.
	DefaultWindow window.Tokens
	// Advertised has the upstream asked what its models accept, beside a large
	// request and with its credential, where no window is configured. Default true.
	Advertised bool
	// Compression says when and how much is folded.
	Compression Compression
	// Summarizer says who writes summaries.
	Summarizer Summarizer
	// Lease is how long a silent owner counts as alive. Default 15s, at least 1s.
	Lease time.Duration
	// Retention is how long a conversation is kept since its last use. Default
	// 168h, at least 1m.
	Retention time.Duration
	// Hold bounds how long a response head is held while a retry is possible.
	// Default 5s; 0: never hold.
	Hold time.Duration
	// Keepalive is how long a streaming caller waits before it gets the head and
	// comment frames. Default 0: off.
	Keepalive time.Duration
	// BodyLimit is the largest request body in bytes. Default 64 MiB, at least 1 KiB.
	BodyLimit int64
	// Memory bounds the bytes of bodies in flight. Default 1 GiB, at least BodyLimit.
	Memory int64
	// UpstreamTimeout is how long the upstream may be silent. Default 10m, at
	// least 1s.
	UpstreamTimeout time.Duration
	// TenantHeader names the header that tells tenants apart. Default empty: the
	// caller's credential does.
	TenantHeader string
	// TenantSecret keys the hash of tenants. Default none: a fixed label. All
	// replicas of a shared store need the same.
	TenantSecret Secret
	// DrainDelay is how long new requests are still served after SIGTERM, while
	// /readyz fails already, so that balancers can notice. Default 0.
	DrainDelay time.Duration
	// Drain is the longest that running requests may take after that.
	// Default 30s; 0: they are cut at once.
	Drain time.Duration
	// LogLevel is the least level that is written. Default info.
	LogLevel slog.Level
	// LogFormat is how lines are written. Default LogAuto.
	LogFormat LogFormat
}

// Compression says when and how much is folded.
type Compression struct {
	// Trigger is the share of usable from which a fold is prepared, between 0
	// and 1, both excluded. Default 0.80.
	Trigger float64
	// KeepRecent is the share of the window for the tail. Default 0.25; 0: the
	// newest group only. Together with Recall it is less than Trigger.
	KeepRecent float64
	// Recall is the share of the window for recalled passages, at most 0.10.
	// Default 0.10; 0: off.
	Recall float64
	// Prepare asks for a summary before it is needed. Default true; false: only
	// when the request cannot fit.
	Prepare bool
	// Wait bounds how long a request that cannot fit waits for a summary.
	// Default 30s; 0: never wait.
	Wait time.Duration
	// ReserveOutput is kept free for the answer when the request names no limit
	// of its own. Default 4096; 0: nothing.
	ReserveOutput window.Tokens
}

// Summarizer says who writes summaries.
type Summarizer struct {
	// Routes are tried in this order. Default none: the upstream, the request's
	// model, the caller's credential.
	Routes []Route
	// Idle is the silence allowed to a summary call. Default 120s, more than 0.
	Idle time.Duration
	// Ceiling bounds an attempt as a whole, also where Idle is longer. Default 600s.
	Ceiling time.Duration
	// MaxAttempts bounds the attempts at once on this replica. Default 16, at
	// least 1.
	MaxAttempts int
}

// Route is one place where a summary is asked for.
type Route struct {
	// Name is unique among the routes: 1 to 64 letters, digits, '-', '_', '.'.
	Name string
	// URL is a base URL, http or https. Empty: the upstream.
	URL string
	// Model is the model's name there. Empty: the request's own.
	Model string
	// APIKeyEnv names an environment variable, APIKeyFile a file that holds the
	// route's credential; at most one of the two is set.
	APIKeyEnv, APIKeyFile string
	// Key is the credential itself, as Load found it. None: the caller's own on
	// the upstream's origin, no credential elsewhere.
	Key Secret
	// Window is the route's window: a summary whose transcript does not fit it is
	// asked of the next route. 0: not known.
	Window window.Tokens
	// Idle is the silence allowed on this route, also before its first text.
	// 0: Summarizer.Idle.
	Idle time.Duration
}

// Default is the configuration that nobody changed. It lacks an upstream.
func Default() Config {
	return Config{
		Listen:      "127.0.0.1:8080",
		AdminListen: "127.0.0.1:9090",
		Mode:        ModeFold,
		Advertised:  true,
		Compression: Compression{
			Trigger:       0.80,
			KeepRecent:    0.25,
			Recall:        0.10,
			Prepare:       true,
			Wait:          30 * time.Second,
			ReserveOutput: 4096,
		},
		Summarizer: Summarizer{
			Idle:        120 * time.Second,
			Ceiling:     600 * time.Second,
			MaxAttempts: 16,
		},
		Lease:           15 * time.Second,
		Retention:       168 * time.Hour,
		Hold:            5 * time.Second,
		BodyLimit:       64 << 20,
		Memory:          1 << 30,
		UpstreamTimeout: 10 * time.Minute,
		Drain:           30 * time.Second,
		LogLevel:        slog.LevelInfo,
		LogFormat:       LogAuto,
	}
}
