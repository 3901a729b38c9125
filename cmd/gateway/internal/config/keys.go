package config

import (
	"strings"
)

// Key describes one setting, as help texts and the configuration reference show it.
type Key struct {
	// Path is the YAML path, such as "compression.trigger". Empty: the setting
	// has no place in the file.
	Path string
	// Flag is the flag's name without dashes. Empty: there is no flag.
	Flag string
	// Value stands for the value in help texts, such as "DURATION".
	Value string
	// Usage is one line that says what it does.
	Usage string
	// Default is the value that holds where nobody sets one, as text; empty: none.
	Default string
	// FileOnly is whether the setting has no environment variable either.
	FileOnly bool
	// Repeats is whether the setting is a list and its flag may be repeated.
	Repeats bool
}

// Env is the environment variable of the setting.
func (k Key) Env() string {
	name := k.Path
	if name == "" {
		name = k.Flag
	}
	return envPrefix + strings.NewReplacer(".", "_", "-", "_").Replace(strings.ToUpper(name))
}

// envPrefix begins every environment variable that is ours.
const envPrefix = "FOLDGATE_"

// Keys returns every setting, in the order of the configuration reference.
func Keys() []Key {
	settings := table()
	keys := make([]Key, len(settings))
	for i, s := range settings {
		keys[i] = s.Key
	}
	return keys
}

// setting is a Key with its parser. set gets all values that the strongest
// source gave: one, or more where the key repeats.
type setting struct {
	Key
	// want completes the sentence "want …" when set refuses.
	want string
	// boolean lets the flag stand without a value.
	boolean bool
	set     func(c *Config, f *files, values []string) error
}

// files are the settings that lead to other files or to a shorter form of
// others; resolve turns them into what Config holds.
type files struct {
	adminToken, tenantSecret       string
	summarizerURL, summarizerModel string
	routes                         []Route
}

const (
	pathConfig           = "config"
	pathAdminToken       = "admin_token"
	pathAdminTokenFile   = "admin_token_file"
	pathTenantSecret     = "tenant_secret"
	pathTenantSecretFile = "tenant_secret_file"
	pathRoutes           = "summarizer.routes"
	pathWindows          = "windows"
)

// table is the one list of settings.
func table() []setting {
	return append(append(addresses(), folding()...), limits()...)
}

func addresses() []setting {
	return []setting{
		{
			Key: Key{Flag: pathConfig, Value: "FILE", Usage: "YAML file to read"},
			set: func(*Config, *files, []string) error { return nil },
		},
		{
			Key: Key{Path: "listen", Flag: "listen", Value: "HOST:PORT", Default: "127.0.0.1:8080", Usage: "address of the data plane"},
			set: text(func(c *Config) *string { return &c.Listen }),
		},
		{
			Key: Key{Path: "admin_listen", Flag: "admin-listen", Value: "HOST:PORT", Default: "127.0.0.1:9090", Usage: "address of the admin plane; not loopback needs admin_token"},
			set: text(func(c *Config) *string { return &c.AdminListen }),
		},
		{
			Key: Key{Path: "admin_hosts", Flag: "admin-host", Value: "NAME", Usage: "further name or address under which the admin plane may be asked", Repeats: true},
			set: list(func(c *Config) *[]string { return &c.AdminHosts }),
		},
		{
			Key: Key{Path: pathAdminToken, Flag: "admin-token", Value: "TOKEN", Usage: "bearer of the admin plane; better from environment or file, a flag is visible to other users"},
			set: secret(func(c *Config) *Secret { return &c.AdminToken }),
		},
		{
			Key: Key{Path: pathAdminTokenFile, Value: "FILE", Usage: "file that holds the bearer of the admin plane"},
			set: file(func(f *files) *string { return &f.adminToken }),
		},
		{
			Key: Key{Path: "upstream", Flag: "upstream", Value: "URL", Usage: "base URL of the API, such as https://api.openai.com; required"},
			set: text(func(c *Config) *string { return &c.Upstream }),
		},
		{
			Key:  Key{Path: "mode", Flag: "mode", Value: "MODE", Default: "fold", Usage: "fold; observe: decide and report, forward the original; off: a plain proxy"},
			want: "fold, observe or off", set: mode,
		},
		{
			Key: Key{Path: "redis_url", Flag: "redis-url", Value: "URL", Usage: "shared store; empty: a store in the process, for one replica"},
			set: secret(func(c *Config) *Secret { return &c.RedisURL }),
		},
		{
			Key:  Key{Path: pathWindows, Flag: "window", Value: "[GLOB=]TOTAL[/INPUT]", Usage: "window in tokens of the models that match, the longest glob wins", Repeats: true},
			want: "[GLOB=]TOTAL[/INPUT] in tokens, such as gpt-4o*=128000", set: windows,
		},
		{
			Key:  Key{Path: "default_window", Flag: "default-window", Value: "TOKENS", Default: "0", Usage: "window of every model that nothing else knows; 0: unknown"},
			want: wantTokens, set: tokens(func(c *Config) tokensField { return &c.DefaultWindow }),
		},
	}
}

func folding() []setting {
	return []setting{
		{
			Key:  Key{Path: "compression.trigger", Flag: "trigger", Value: "SHARE", Default: "0.80", Usage: "share of usable from which a fold is prepared"},
			want: "a number between 0 and 1", set: share(func(c *Config) *float64 { return &c.Compression.Trigger }),
		},
		{
			Key:  Key{Path: "compression.keep_recent", Flag: "keep-recent", Value: "SHARE", Default: "0.25", Usage: "share of the window for the messages kept at the end"},
			want: "a number from 0 to less than the trigger", set: share(func(c *Config) *float64 { return &c.Compression.KeepRecent }),
		},
		{
			Key:  Key{Path: "compression.recall", Flag: "recall", Value: "SHARE", Default: "0.05", Usage: "share of the window for recalled passages; 0: off (recall is not in this version: no effect yet)"},
			want: "a number from 0 to 0.10", set: share(func(c *Config) *float64 { return &c.Compression.Recall }),
		},
		{
			Key:  Key{Path: "compression.prepare", Flag: "prepare", Value: "BOOL", Default: "true", Usage: "ask for a summary before it is needed"},
			want: "true or false", boolean: true, set: boolean(func(c *Config) *bool { return &c.Compression.Prepare }),
		},
		{
			Key:  Key{Path: "compression.wait", Flag: "wait", Value: "DURATION", Default: "30s", Usage: "longest wait of a request that cannot fit; 0: never wait"},
			want: wantDuration, set: duration(func(c *Config) durationField { return &c.Compression.Wait }),
		},
		{
			Key:  Key{Path: "compression.reserve_output", Flag: "reserve-output", Value: "TOKENS", Default: "4096", Usage: "kept free for the answer when the request names no limit; at most a quarter of the window"},
			want: wantTokens, set: tokens(func(c *Config) tokensField { return &c.Compression.ReserveOutput }),
		},
		{
			Key:  Key{Path: pathRoutes, FileOnly: true, Value: "LIST", Usage: "where summaries are asked for: name, url, model, api_key_env or api_key_file, window, idle"},
			want: "a list of routes", set: noRoutes,
		},
		{
			Key: Key{Flag: "summarizer-url", Value: "URL", Usage: "one route instead of summarizer.routes; empty: the upstream"},
			set: file(func(f *files) *string { return &f.summarizerURL }),
		},
		{
			Key: Key{Flag: "summarizer-model", Value: "MODEL", Usage: "model of that route; empty: the request's own"},
			set: file(func(f *files) *string { return &f.summarizerModel }),
		},
		{
			Key:  Key{Path: "summarizer.idle", Flag: "summarizer-idle", Value: "DURATION", Default: "120s", Usage: "silence allowed to a summary call; before its first text 300s where this is less"},
			want: wantDuration, set: duration(func(c *Config) durationField { return &c.Summarizer.Idle }),
		},
		{
			Key:  Key{Path: "summarizer.ceiling", Flag: "summarizer-ceiling", Value: "DURATION", Default: "600s", Usage: "longest time of one attempt"},
			want: wantDuration, set: duration(func(c *Config) durationField { return &c.Summarizer.Ceiling }),
		},
		{
			Key:  Key{Path: "summarizer.max_attempts", Flag: "max-attempts", Value: "N", Default: "16", Usage: "attempts at once on this replica"},
			want: "a whole number from 1 to 10000", set: number(func(c *Config) *int { return &c.Summarizer.MaxAttempts }),
		},
		{
			Key:  Key{Path: "lease", Flag: "lease", Value: "DURATION", Default: "15s", Usage: "how long a silent owner counts as alive"},
			want: wantDuration, set: duration(func(c *Config) durationField { return &c.Lease }),
		},
		{
			Key:  Key{Path: "retention", Flag: "retention", Value: "DURATION", Default: "168h", Usage: "how long a conversation is kept since its last use"},
			want: wantDuration, set: duration(func(c *Config) durationField { return &c.Retention }),
		},
	}
}

func limits() []setting {
	return []setting{
		{
			Key:  Key{Path: "hold", Flag: "hold", Value: "DURATION", Default: "5s", Usage: "longest time a response head is held while a retry is possible; 0: never"},
			want: wantDuration, set: duration(func(c *Config) durationField { return &c.Hold }),
		},
		{
			Key:  Key{Path: "keepalive", Flag: "keepalive", Value: "DURATION", Default: "0", Usage: "comment frames for a waiting stream, for balancers with short idle limits; 0: off"},
			want: wantDuration, set: duration(func(c *Config) durationField { return &c.Keepalive }),
		},
		{
			Key:  Key{Path: "body_limit", Flag: "body-limit", Value: "SIZE", Default: "64MiB", Usage: "largest request body"},
			want: wantSize, set: size(func(c *Config) *int64 { return &c.BodyLimit }),
		},
		{
			Key:  Key{Path: "memory", Flag: "memory", Value: "SIZE", Default: "1GiB", Usage: "bytes of bodies in flight; beyond: 503 overloaded"},
			want: wantSize, set: size(func(c *Config) *int64 { return &c.Memory }),
		},
		{
			Key:  Key{Path: "upstream_timeout", Flag: "upstream-timeout", Value: "DURATION", Default: "10m", Usage: "silence allowed to the upstream"},
			want: wantDuration, set: duration(func(c *Config) durationField { return &c.UpstreamTimeout }),
		},
		{
			Key: Key{Path: "tenant_header", Flag: "tenant-header", Value: "NAME", Usage: "header that tells tenants apart; empty: the caller's credential does"},
			set: text(func(c *Config) *string { return &c.TenantHeader }),
		},
		{
			Key: Key{Path: pathTenantSecret, Value: "SECRET", Usage: "keys the hash of tenants, the same on all replicas"},
			set: secret(func(c *Config) *Secret { return &c.TenantSecret }),
		},
		{
			Key: Key{Path: pathTenantSecretFile, Value: "FILE", Usage: "file that holds the tenant secret"},
			set: file(func(f *files) *string { return &f.tenantSecret }),
		},
		{
			Key:  Key{Path: "drain", Flag: "drain", Value: "DURATION", Default: "30s", Usage: "longest that running requests may take after SIGTERM"},
			want: wantDuration, set: duration(func(c *Config) durationField { return &c.Drain }),
		},
		{
			Key:  Key{Path: "log_level", Flag: "log-level", Value: "LEVEL", Default: "info", Usage: "debug, info, warn or error"},
			want: "debug, info, warn or error", set: logLevel,
		},
		{
			Key:  Key{Path: "log_format", Flag: "log-format", Value: "FORMAT", Default: "auto", Usage: "auto, text or json; auto: text on a terminal, else json"},
			want: "auto, text or json", set: logFormat,
		},
	}
}
