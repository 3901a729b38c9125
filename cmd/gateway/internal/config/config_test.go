package config_test

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/foldgate/foldgate/cmd/gateway/internal/config"
	"github.com/foldgate/foldgate/compression/window"
)

const upstream = "https://api.openai.com"

const storeKeys = "a=aHVudGVyMi1odW50ZXIyLWh1bnRlcjItaHVudGVyMi0=, plain"

// sources are the inputs of one case.
type sources struct {
	args  []string
	env   []string
	files map[string]string
}

func load(t *testing.T, s sources) (config.Loaded, error) {
	t.Helper()
	return config.Load(input(s))
}

func TestDefaultsAreThoseOfTheReference(t *testing.T) {
	t.Parallel()
	got, err := load(t, sources{args: []string{"--upstream", upstream}})
	if err != nil {
		t.Fatal(err)
	}
	want := config.Config{
		Listen: "127.0.0.1:8080", AdminListen: "127.0.0.1:9090", Upstream: upstream, Mode: config.ModeFold, Advertised: true,
		Compression: config.Compression{
			Trigger: 0.8, KeepRecent: 0.25, Recall: 0.10, Prepare: true, Wait: 30 * time.Second, ReserveOutput: 4096,
		},
		Summarizer: config.Summarizer{Idle: 2 * time.Minute, Ceiling: 10 * time.Minute, MaxAttempts: 16},
		Lease:      15 * time.Second, Retention: 7 * 24 * time.Hour, Hold: 5 * time.Second,
		BodyLimit: 67108864, Memory: 1073741824, UpstreamTimeout: 10 * time.Minute, Drain: 30 * time.Second,
		LogLevel: slog.LevelInfo, LogFormat: config.LogAuto,
	}
	if diff := cmp.Diff(want, got.Config); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
}

func TestEverySettingFromEverySource(t *testing.T) {
	t.Parallel()
	// want sets the one field that the case is about.
	cases := []struct {
		path, flag, env string
		text            string
		yaml            string // how the file says it, where that is not "path: text"
		want            func(*config.Config)
	}{
		{path: "listen", flag: "listen", env: "LISTEN", text: "127.0.0.1:1", want: func(c *config.Config) { c.Listen = "127.0.0.1:1" }},
		{path: "admin_listen", flag: "admin-listen", env: "ADMIN_LISTEN", text: "[::1]:2", yaml: `"[::1]:2"`, want: func(c *config.Config) { c.AdminListen = "[::1]:2" }},
		{path: "admin_hosts", flag: "admin-host", env: "ADMIN_HOSTS", text: "gate.internal", yaml: "[gate.internal]", want: func(c *config.Config) { c.AdminHosts = []string{"gate.internal"} }},
		{path: "admin_token", flag: "admin-token", env: "ADMIN_TOKEN", text: "t0ken", want: func(c *config.Config) { c.AdminToken = "t0ken" }},
		{path: "upstream", flag: "upstream", env: "UPSTREAM", text: "http://localhost:11434/v1", want: func(c *config.Config) { c.Upstream = "http://localhost:11434/v1" }},
		{path: "mode", flag: "mode", env: "MODE", text: "observe", want: func(c *config.Config) { c.Mode = config.ModeObserve }},
		{path: "redis_url", flag: "redis-url", env: "REDIS_URL", text: "redis://:pw@r:6379/1", want: func(c *config.Config) { c.RedisURL = "redis://:pw@r:6379/1" }},
		{path: "store_keys", env: "STORE_KEYS", text: storeKeys, yaml: `"` + storeKeys + `"`, want: func(c *config.Config) { c.StoreKeys = storeKeys }},
		{path: "windows", flag: "window", env: "WINDOWS", text: "gpt-*=4000", yaml: "{gpt-*: 4000}", want: func(c *config.Config) { c.Windows = []window.Rule{{Glob: "gpt-*", Total: 4000}} }},
		{path: "default_window", flag: "default-window", env: "DEFAULT_WINDOW", text: "32768", want: func(c *config.Config) { c.DefaultWindow = 32768 }},
		{path: "advertised", flag: "advertised", env: "ADVERTISED", text: "false", want: func(c *config.Config) { c.Advertised = false }},
		{path: "compression.trigger", flag: "trigger", env: "COMPRESSION_TRIGGER", text: "0.7", want: func(c *config.Config) { c.Compression.Trigger = 0.7 }},
		{path: "compression.keep_recent", flag: "keep-recent", env: "COMPRESSION_KEEP_RECENT", text: "0.1", want: func(c *config.Config) { c.Compression.KeepRecent = 0.1 }},
		{path: "compression.recall", flag: "recall", env: "COMPRESSION_RECALL", text: "0", want: func(c *config.Config) { c.Compression.Recall = 0 }},
		{path: "compression.prepare", flag: "prepare", env: "COMPRESSION_PREPARE", text: "false", want: func(c *config.Config) { c.Compression.Prepare = false }},
		{path: "compression.wait", flag: "wait", env: "COMPRESSION_WAIT", text: "0", want: func(c *config.Config) { c.Compression.Wait = 0 }},
		{path: "compression.reserve_output", flag: "reserve-output", env: "COMPRESSION_RESERVE_OUTPUT", text: "1024", want: func(c *config.Config) { c.Compression.ReserveOutput = 1024 }},
		{path: "summarizer.idle", flag: "summarizer-idle", env: "SUMMARIZER_IDLE", text: "5s", want: func(c *config.Config) { c.Summarizer.Idle = 5 * time.Second }},
		{path: "summarizer.ceiling", flag: "summarizer-ceiling", env: "SUMMARIZER_CEILING", text: "200s", want: func(c *config.Config) { c.Summarizer.Ceiling = 200 * time.Second }},
		{path: "summarizer.max_attempts", flag: "max-attempts", env: "SUMMARIZER_MAX_ATTEMPTS", text: "3", want: func(c *config.Config) { c.Summarizer.MaxAttempts = 3 }},
		{path: "lease", flag: "lease", env: "LEASE", text: "2s", want: func(c *config.Config) { c.Lease = 2 * time.Second }},
		{path: "retention", flag: "retention", env: "RETENTION", text: "24h", want: func(c *config.Config) { c.Retention = 24 * time.Hour }},
		{path: "hold", flag: "hold", env: "HOLD", text: "0s", want: func(c *config.Config) { c.Hold = 0 }},
		{path: "keepalive", flag: "keepalive", env: "KEEPALIVE", text: "15s", want: func(c *config.Config) { c.Keepalive = 15 * time.Second }},
		{path: "body_limit", flag: "body-limit", env: "BODY_LIMIT", text: "1MiB", want: func(c *config.Config) { c.BodyLimit = 1 << 20 }},
		{path: "memory", flag: "memory", env: "MEMORY", text: "2GB", want: func(c *config.Config) { c.Memory = 2_000_000_000 }},
		{path: "upstream_timeout", flag: "upstream-timeout", env: "UPSTREAM_TIMEOUT", text: "1m", want: func(c *config.Config) { c.UpstreamTimeout = time.Minute }},
		{path: "tenant_header", flag: "tenant-header", env: "TENANT_HEADER", text: "X-Team", want: func(c *config.Config) { c.TenantHeader = "X-Team" }},
		{path: "tenant_secret", env: "TENANT_SECRET", text: "s3cret", want: func(c *config.Config) { c.TenantSecret = "s3cret" }},
		{path: "drain_delay", flag: "drain-delay", env: "DRAIN_DELAY", text: "5s", want: func(c *config.Config) { c.DrainDelay = 5 * time.Second }},
		{path: "drain", flag: "drain", env: "DRAIN", text: "1s", want: func(c *config.Config) { c.Drain = time.Second }},
		{path: "log_level", flag: "log-level", env: "LOG_LEVEL", text: "debug", want: func(c *config.Config) { c.LogLevel = slog.LevelDebug }},
		{path: "log_format", flag: "log-format", env: "LOG_FORMAT", text: "json", want: func(c *config.Config) { c.LogFormat = config.LogJSON }},
	}
	for _, tc := range cases {
		t.Run(tc.path, func(t *testing.T) {
			t.Parallel()
			want := config.Default()
			want.Upstream = upstream
			tc.want(&want)
			text := tc.yaml
			if text == "" {
				text = tc.text
			}
			byFile := fmt.Sprintf("%s: %s\n", tc.path, text)
			if section, key, nested := strings.Cut(tc.path, "."); nested {
				byFile = fmt.Sprintf("%s:\n  %s: %s\n", section, key, text)
			}
			all := map[string]sources{
				"file": {args: []string{"--config", "f.yaml"}, files: map[string]string{"f.yaml": byFile}},
				"env":  {env: []string{"FOLDGATE_" + tc.env + "=" + tc.text}},
			}
			if tc.flag != "" {
				all["flag"] = sources{args: []string{"--" + tc.flag + "=" + tc.text}}
			}
			for name, s := range all {
				if tc.path != "upstream" {
					s.env = append(s.env, "FOLDGATE_UPSTREAM="+upstream)
				}
				got, err := load(t, s)
				if err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				if diff := cmp.Diff(want, got.Config); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
			}
		})
	}
	t.Run("the table lists no other", func(t *testing.T) {
		t.Parallel()
		known := map[string]bool{"admin_token_file": true, "tenant_secret_file": true, "store_keys_file": true, "redis_url_file": true, "summarizer.routes": true}
		for _, tc := range cases {
			known[tc.path] = true
		}
		for _, k := range config.Keys() {
			if k.Path != "" && !known[k.Path] {
				t.Errorf("%s is in the table and not in this test", k.Path)
			}
		}
	})
}

func TestStrongerSourcesWin(t *testing.T) {
	t.Parallel()
	file := map[string]string{"f.yaml": "upstream: http://file\nwindows: {a: 1000, b: 2000}\nlease: 3s\nhold: 1s\nadmin_hosts: [x, y]\n"}
	got, err := load(t, sources{
		args:  []string{"--config", "f.yaml", "--window", "c=3000", "--window", "4000/3000", "--lease", "5s"},
		env:   []string{"FOLDGATE_UPSTREAM=http://env", "FOLDGATE_LEASE=4s", "FOLDGATE_HOLD=", "FOLDGATE_ADMIN_HOSTS=p, q"},
		files: file,
	})
	if err != nil {
		t.Fatal(err)
	}
	type picked struct {
		Upstream    string
		Lease, Hold time.Duration
		Hosts       []string
		Rules       []window.Rule
	}
	want := picked{
		Upstream: "http://env", Lease: 5 * time.Second, Hold: time.Second, Hosts: []string{"p", "q"},
		Rules: []window.Rule{{Glob: "c", Total: 3000}, {Total: 4000, Input: 3000}},
	}
	if diff := cmp.Diff(want, picked{got.Upstream, got.Lease, got.Hold, got.AdminHosts, got.Windows}); diff != "" {
		t.Errorf("layers (-want +got):\n%s", diff)
	}
}

func TestConfigFileFromTheEnvironment(t *testing.T) {
	t.Parallel()
	got, err := load(t, sources{env: []string{"FOLDGATE_CONFIG=f.yaml"}, files: map[string]string{"f.yaml": "upstream: " + upstream}})
	if err != nil || got.Upstream != upstream {
		t.Errorf("got %q, %v", got.Upstream, err)
	}
}

func TestSecretsFromFiles(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"f.yaml":     "upstream: " + upstream + "\nadmin_token_file: /run/token\ntenant_secret_file: /run/tenant\nstore_keys_file: /run/keys\nredis_url_file: /run/redis\n",
		"/run/redis": "rediss://:p@r:1/2\n",
		"/run/keys":  "# two\n" + storeKeys + "\n",
		"/run/token": "from-file\n", "/run/tenant": "tenant\r\n", "/run/other": "other",
	}
	cases := []struct {
		name  string
		env   []string
		token config.Secret
	}{
		{"the file's content, less its line break", nil, "from-file"},
		{"a value from a stronger source wins", []string{"FOLDGATE_ADMIN_TOKEN=from-env"}, "from-env"},
		{"a file from a stronger source wins", []string{"FOLDGATE_ADMIN_TOKEN_FILE=/run/other"}, "other"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := load(t, sources{args: []string{"--config=f.yaml"}, env: tc.env, files: files})
			if err != nil {
				t.Fatal(err)
			}
			if string(got.AdminToken) != string(tc.token) || string(got.TenantSecret) != "tenant" || string(got.StoreKeys) != "# two\n"+storeKeys || string(got.RedisURL) != "rediss://:p@r:1/2" {
				t.Errorf("got token %q, tenant secret %q, Redis %q", string(got.AdminToken), string(got.TenantSecret), string(got.RedisURL))
			}
		})
	}
}

func TestRoutes(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"key": "sk-file\n",
		"f.yaml": `
upstream: https://api.openai.com
summarizer:
  routes:
    - &first {name: a, url: "https://one.example/v1", model: m, api_key_env: ONE_KEY, window: 8000, idle: 3s}
    - name: b
      api_key_file: key
`,
	}
	t.Run("from the file", func(t *testing.T) {
		t.Parallel()
		got, err := load(t, sources{args: []string{"--config=f.yaml"}, env: []string{"ONE_KEY=sk-one"}, files: files})
		if err != nil {
			t.Fatal(err)
		}
		want := []config.Route{
			{Name: "a", URL: "https://one.example/v1", Model: "m", APIKeyEnv: "ONE_KEY", Key: "sk-one", Window: 8000, Idle: 3 * time.Second},
			{Name: "b", APIKeyFile: "key", Key: "sk-file"},
		}
		if diff := cmp.Diff(want, got.Summarizer.Routes); diff != "" {
			t.Errorf("routes (-want +got):\n%s", diff)
		}
	})
	t.Run("the flags make one instead", func(t *testing.T) {
		t.Parallel()
		got, err := load(t, sources{
			args: []string{"--config=f.yaml", "--summarizer-url", "http://sum:1", "--summarizer-model", "s"},
			env:  []string{"ONE_KEY=sk-one"}, files: files,
		})
		if err != nil {
			t.Fatal(err)
		}
		want := []config.Route{{Name: "summarizer", URL: "http://sum:1", Model: "s"}}
		if diff := cmp.Diff(want, got.Summarizer.Routes); diff != "" {
			t.Errorf("routes (-want +got):\n%s", diff)
		}
	})
}

func TestHelpAndUsage(t *testing.T) {
	t.Parallel()
	if _, err := load(t, sources{args: []string{"--help"}}); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("--help: got %v, want flag.ErrHelp", err)
	}
	for _, args := range [][]string{{"--no-such"}, {"--listen"}} {
		var usage *config.UsageError
		if _, err := load(t, sources{args: args}); !errors.As(err, &usage) {
			t.Errorf("%v: got %v, want a usage error", args, err)
		}
	}
	got, err := load(t, sources{args: []string{"a.json", "--upstream", upstream, "b.json", "--prepare=false", "--prepare"}})
	if err != nil || !cmp.Equal(got.Args, []string{"a.json", "b.json"}) || !got.Compression.Prepare {
		t.Errorf("arguments among flags: got %v, prepare %t, %v", got.Args, got.Compression.Prepare, err)
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	got, err := load(t, sources{
		args: []string{"--admin-token", "x", "--upstream", upstream},
		env:  []string{"FOLDGATE_TRIGER=1", "FOLDGATE_TESTDATA=/x", "FOLDGATE_REQUIRE_REDIS=1", "OTHER=1", "FOLDGATE_SUMMARIZER_ROUTES=x"},
	})
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(got.Warnings, "\n")
	if len(got.Warnings) != 3 || !strings.Contains(text, "FOLDGATE_TRIGER") || !strings.Contains(text, "FOLDGATE_SUMMARIZER_ROUTES") || !strings.Contains(text, "--admin-token") {
		t.Errorf("got warnings %q", got.Warnings)
	}
}

func TestToolsNeedNoUpstream(t *testing.T) {
	t.Parallel()
	if err := config.Default().Validate(config.ForTools); err != nil {
		t.Errorf("tools: %v", err)
	}
	if err := config.Default().Validate(config.ForServing); err == nil {
		t.Error("serving without an upstream is valid")
	}
}

func TestTheTableTellsTheDefaults(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for _, k := range config.Keys() {
		if k.Default != "" {
			text.WriteString(k.Env() + "=" + k.Default + "\n")
		}
	}
	env := append(strings.Split(strings.TrimSpace(text.String()), "\n"), "FOLDGATE_UPSTREAM="+upstream)
	got, err := load(t, sources{env: env})
	if err != nil {
		t.Fatal(err)
	}
	want := config.Default()
	want.Upstream = upstream
	if diff := cmp.Diff(want, got.Config); diff != "" {
		t.Errorf("defaults of the table (-want +got):\n%s", diff)
	}
	if n := strings.Count(text.String(), "\n"); n < 20 {
		t.Errorf("only %d defaults are told", n)
	}
}
