package config_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/foldgate/foldgate/cmd/gateway/internal/config"
)

// Every problem names its key, where it was set and what would be right.
func TestProblems(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name string
		args []string
		env  []string
		yaml string
		want string // parts of the one problem, separated by |
	}{
		{name: "brackets without end", yaml: "windows: " + strings.Repeat("[", 100_000), want: "config|nested too deeply"},
		{name: "dashes without end", yaml: "windows: \n" + strings.Repeat("- ", 100_000), want: "config|nested too deeply"},
		{name: "indented without end", yaml: "a:\n" + strings.Repeat(" ", 1000) + "b: 1", want: "config|nested too deeply"},
		{name: "no upstream", args: []string{"--upstream="}, want: "upstream|http or https URL"},
		{name: "upstream without scheme", args: []string{"--upstream", "api.openai.com"}, want: "upstream (flag --upstream)|without http or https"},
		{name: "upstream of another scheme", args: []string{"--upstream", "ftp://h"}, want: "upstream|http or https"},
		{name: "upstream without host", args: []string{"--upstream", "http:///v1"}, want: "upstream|without a host"},
		{name: "upstream with credentials", args: []string{"--upstream", "https://user:hunter2@h"}, want: "upstream|with credentials"},
		{name: "upstream with fragment", args: []string{"--upstream", "https://h/#"}, want: "upstream|fragment"},
		{name: "upstream unreadable", args: []string{"--upstream", "https://hunter2:x:y/%zz"}, want: "upstream|no URL"},
		{name: "listen without port", args: []string{"--listen", "localhost"}, want: `listen (flag --listen): got "localhost"|host:port`},
		{name: "listen with a port too large", args: []string{"--listen", "localhost:70000"}, want: "listen|host:port"},
		{name: "admin_listen without port", args: []string{"--admin-listen", "localhost"}, want: "admin_listen|host:port"},
		{name: "one address for both", args: []string{"--listen", "127.0.0.1:9090"}, want: "admin_listen|another address"},
		{name: "admin plane for everybody", args: []string{"--admin-listen", ":9090"}, want: "admin_token|not loopback"},
		{name: "admin plane on a name", env: []string{"FOLDGATE_ADMIN_LISTEN=gate.internal:9090"}, want: "admin_token|not loopback"},
		{name: "admin host with scheme", args: []string{"--admin-host", "http://x"}, want: "admin_hosts|without scheme"},
		{name: "unknown mode", args: []string{"--mode", "on"}, want: `mode (flag --mode): got "on", want fold, observe or off`},
		{name: "redis scheme", args: []string{"--redis-url", "http://:hunter2@r"}, want: "redis_url (flag --redis-url)|use redis, rediss"},
		{name: "window", args: []string{"--window", "gpt-4=many"}, want: `windows (flag --window): got "gpt-4=many"|[GLOB=]TOTAL[/INPUT]`},
		{name: "default window negative", args: []string{"--default-window", "-1"}, want: "default_window|0, or from 256"},
		{name: "default window no number", args: []string{"--default-window", "128k"}, want: "default_window|tokens"},
		{name: "advertised", args: []string{"--advertised=maybe"}, want: "advertised|true or false"},
		{name: "trigger zero", args: []string{"--trigger", "0"}, want: "compression.trigger (flag --trigger)|between 0 and 1"},
		{name: "trigger one", args: []string{"--trigger", "1"}, want: "compression.trigger|between 0 and 1"},
		{name: "trigger no number", env: []string{"FOLDGATE_COMPRESSION_TRIGGER=80%"}, want: `compression.trigger (FOLDGATE_COMPRESSION_TRIGGER): got "80%"|between 0 and 1`},
		{name: "trigger NaN", args: []string{"--trigger", "NaN"}, want: "compression.trigger|between 0 and 1"},
		{name: "recall too much", args: []string{"--recall", "0.11"}, want: "compression.recall|0 to 0.10"},
		{name: "recall negative", args: []string{"--recall", "-0.01"}, want: "compression.recall|0 to 0.10"},
		{name: "keep_recent negative", args: []string{"--keep-recent", "-0.1"}, want: "compression.keep_recent|from 0"},
		{name: "keep_recent leaves no room", args: []string{"--keep-recent", "0.75"}, want: "compression.keep_recent|less than trigger 0.8"},
		{name: "reserve negative", args: []string{"--reserve-output", "-5"}, want: "compression.reserve_output|not negative"},
		{name: "prepare", args: []string{"--prepare=maybe"}, want: "compression.prepare|true or false"},
		{name: "wait negative", args: []string{"--wait", "-1s"}, want: "compression.wait|not negative"},
		{name: "wait without unit", args: []string{"--wait", "30"}, want: `compression.wait (flag --wait): got "30"|such as 30s`},
		{name: "hold negative", args: []string{"--hold", "-1s"}, want: "hold|not negative"},
		{name: "keepalive negative", args: []string{"--keepalive", "-1s"}, want: "keepalive|not negative"},
		{name: "drain delay negative", args: []string{"--drain-delay", "-1s"}, want: "drain_delay|not negative"},
		{name: "drain negative", args: []string{"--drain", "-1s"}, want: "drain|not negative"},
		{name: "lease too short", args: []string{"--lease", "500ms"}, want: "lease|at least 1s"},
		{name: "retention too short", args: []string{"--retention", "1s"}, want: "retention (flag --retention)|at least 1m"},
		{name: "upstream timeout zero", args: []string{"--upstream-timeout", "0"}, want: "upstream_timeout|at least 1s"},
		{name: "idle zero", args: []string{"--summarizer-idle", "0"}, want: "summarizer.idle|at least"},
		{name: "ceiling under a second", args: []string{"--summarizer-ceiling", "60ms"}, want: "summarizer.ceiling|at least 1s"},
		{name: "no attempts", args: []string{"--max-attempts", "0"}, want: "summarizer.max_attempts|1 to 10000"},
		{name: "attempts no number", args: []string{"--max-attempts", "all"}, want: "summarizer.max_attempts|1 to 10000"},
		{name: "body limit too small", args: []string{"--body-limit", "10"}, want: "body_limit|at least 1KiB"},
		{name: "body limit no size", args: []string{"--body-limit", "64 megs"}, want: "body_limit|such as 64MiB"},
		{name: "body limit overflows", args: []string{"--body-limit", "9223372036854775807KiB"}, want: "body_limit|such as 64MiB"},
		{name: "memory under body limit", args: []string{"--memory", "1MiB"}, want: "memory|at least body_limit"},
		{name: "tenant header", args: []string{"--tenant-header", "X Team"}, want: "tenant_header|name of a header"},
		{name: "store keys", env: []string{"FOLDGATE_STORE_KEYS=hunter2"}, want: "store_keys (FOLDGATE_STORE_KEYS): got (hidden)|entry 1: no id"},
		{name: "store key too short", yaml: "store_keys: 'a=aHVudGVyMg=='", want: "store_keys (f.yaml:1)|entry 1: the key: 32 bytes"},
		{name: "store keys of the file", yaml: "store_keys_file: bad", want: "store_keys|entry 2: plain stands there twice; store keys: entry 3"},
		{name: "store keys file missing", yaml: "store_keys_file: missing", want: "store_keys_file (f.yaml:1)|file does not exist"},
		{name: "store keys twice", yaml: "store_keys: plain\nstore_keys_file: empty", want: "store_keys_file (f.yaml:2)|one of the two"},
		{name: "redis file missing", yaml: "redis_url_file: missing", want: "redis_url_file (f.yaml:1)|file does not exist"},
		{name: "redis file that holds no URL", yaml: "redis_url_file: bad", want: "redis_url (f.yaml:1)|the URL of a Redis deployment"},
		{name: "redis twice", yaml: "redis_url: redis://r\nredis_url_file: bad", want: "redis_url_file (f.yaml:2)|one of the two"},
		{name: "log level", args: []string{"--log-level", "loud"}, want: "log_level|debug, info, warn or error"},
		{name: "log format", args: []string{"--log-format", "xml"}, want: "log_format|auto, text or json"},
		{name: "no such file", args: []string{"--config", "missing.yaml"}, want: `config: got "missing.yaml"|file does not exist`},
		{name: "token file missing", env: []string{"FOLDGATE_ADMIN_TOKEN_FILE=missing"}, want: "admin_token_file (FOLDGATE_ADMIN_TOKEN_FILE)|file does not exist"},
		{name: "token file empty", env: []string{"FOLDGATE_ADMIN_TOKEN_FILE=empty"}, want: "admin_token_file|empty"},
		{name: "token twice", env: []string{"FOLDGATE_ADMIN_TOKEN=hunter2", "FOLDGATE_ADMIN_TOKEN_FILE=empty"}, want: "admin_token_file|one of the two"},
		{name: "token of two lines", env: []string{"FOLDGATE_ADMIN_TOKEN=hunter2\nhunter3"}, want: "admin_token (FOLDGATE_ADMIN_TOKEN)|one line"},
		{name: "key of two lines", yaml: "summarizer: {routes: [{name: a, api_key_env: TWO}]}", env: []string{"TWO=hunter2\nhunter3"}, want: "summarizer.routes[0].key|one line"},
		{name: "tenant secret file missing", yaml: "tenant_secret_file: missing", want: "tenant_secret_file (f.yaml:1)|file does not exist"},

		{name: "no YAML", yaml: "a: [", want: "config (f.yaml|valid YAML"},
		{name: "not a mapping", yaml: "- a\n- b", want: "config (f.yaml:1)|mapping"},
		{name: "two documents", yaml: "lease: 2s\n---\nlease: 3s", want: "config (f.yaml:3)|one YAML document"},
		{name: "unknown key", yaml: "lease: 2s\nlaese: 3s", want: "laese (f.yaml:2): got an unknown key"},
		{name: "unknown key that stands elsewhere", yaml: "trigger: 0.5", want: "trigger (f.yaml:1)|compression.trigger?"},
		{name: "flag's spelling", yaml: "admin-listen: 127.0.0.1:1", want: "admin-listen (f.yaml:1)|admin_listen?"},
		{name: "unknown key in a section", yaml: "compression:\n  triger: 1", want: "compression.triger (f.yaml:2)|unknown"},
		{name: "key twice", yaml: "lease: 2s\nlease: 3s", want: "lease (f.yaml:2)|once"},
		{name: "section of another kind", yaml: "compression: 5", want: "compression (f.yaml:1)|mapping"},
		{name: "list for a value", yaml: "lease: [2s]", want: "lease (f.yaml:1): got a list|single value"},
		{name: "value for a list", yaml: "admin_hosts: a", want: "admin_hosts (f.yaml:1)|a list"},
		{name: "list of lists", yaml: "admin_hosts: [[a]]", want: "admin_hosts (f.yaml:1)|single values"},
		{name: "value for a map", yaml: "windows: 5", want: "windows (f.yaml:1)|map"},
		{name: "window in a map", yaml: "windows: {x: [1]}", want: "windows.x (f.yaml:1)|TOTAL"},
		{name: "glob twice", yaml: "windows: {x: 1000, x: 2000}", want: "windows.x (f.yaml:1)|once"},
		{name: "alias of itself", yaml: "lease: &a *a", want: "f.yaml"},
		{name: "value in the file", yaml: "compression:\n  wait: soon", want: `compression.wait (f.yaml:2): got "soon"|such as 30s`},

		{name: "routes no list", yaml: "summarizer: {routes: {}}", want: "summarizer.routes (f.yaml:1)|a list of routes"},
		{name: "route no mapping", yaml: "summarizer: {routes: [a]}", want: "summarizer.routes[0]"},
		{name: "route without name", yaml: "summarizer: {routes: [{model: m}]}", want: "summarizer.routes[0].name|1 to 64"},
		{name: "route name twice", yaml: "summarizer: {routes: [{name: a}, {name: a}]}", want: "summarizer.routes[1].name|no route before it"},
		{name: "route URL", yaml: "summarizer: {routes: [{name: a, url: 'ws://h'}]}", want: "summarizer.routes[0].url|http or https"},
		{name: "route URL with credentials", yaml: "summarizer: {routes: [{name: a, url: 'http://hunter2@h'}]}", want: "summarizer.routes[0].url|credentials"},
		{name: "route key not set", yaml: "summarizer: {routes: [{name: a, api_key_env: NOT_SET}]}", want: `summarizer.routes[0].api_key_env (f.yaml:1): got "NOT_SET"|is set`},
		{name: "route key file", yaml: "summarizer: {routes: [{name: a, api_key_file: missing}]}", want: "summarizer.routes[0].api_key_file|file does not exist"},
		{name: "route key twice", yaml: "summarizer: {routes: [{name: a, api_key_file: k, api_key_env: K}]}", want: "summarizer.routes[0].api_key_env|one of the two"},
		{name: "route window", yaml: "summarizer: {routes: [{name: a, window: big}]}", want: "summarizer.routes[0].window|tokens"},
		{name: "route window negative", yaml: "summarizer: {routes: [{name: a, window: -1}]}", want: "summarizer.routes[0].window|not negative"},
		{name: "route idle", yaml: "summarizer: {routes: [{name: a, idle: 5}]}", want: "summarizer.routes[0].idle|such as 30s"},
		{name: "route idle over the ceiling", yaml: "summarizer: {routes: [{name: a, idle: 1h}]}", want: "summarizer.routes[0].idle|ceiling"},
		{name: "route field", yaml: "summarizer: {routes: [{name: a, key: hunter2}]}", want: "summarizer.routes[0].key (f.yaml:1)|unknown"},
		{name: "route field twice", yaml: "summarizer: {routes: [{name: a, model: b, model: c}]}", want: "summarizer.routes[0].model|once"},
		{name: "route field no value", yaml: "summarizer: {routes: [{name: a, model: [b]}]}", want: "summarizer.routes[0].model|single value"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := sources{args: tc.args, env: tc.env, files: map[string]string{"empty": "\n", "bad": "plain\nplain\nhunter2", "f.yaml": tc.yaml}}
			if tc.yaml != "" {
				s.args = append(s.args, "--config", "f.yaml")
			}
			if !strings.Contains(strings.Join(s.args, " "), "--upstream") || tc.name == "upstream timeout zero" {
				s.args = append(s.args, "--upstream", upstream)
			}
			_, err := load(t, s)
			problems := config.Problems(err)
			if len(problems) != 1 {
				t.Fatalf("got %d problems, want one: %v", len(problems), err)
			}
			for part := range strings.SplitSeq(tc.want, "|") {
				if !strings.Contains(problems[0].Error(), part) {
					t.Errorf("got %q, want it to contain %q", problems[0], part)
				}
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("a secret is in the message: %v", err)
			}
		})
	}
}

func TestAllProblemsAtOnce(t *testing.T) {
	t.Parallel()
	_, err := load(t, sources{
		args: []string{"--trigger", "2", "--config", "f.yaml"},
		env:  []string{"FOLDGATE_LEASE=soon"},
		files: map[string]string{"f.yaml": `
listen: nowhere
unknown: 1
compression: {recall: much, nothing: 2}
summarizer: {routes: [{}, {name: b, url: "gopher://x", wrong: 1}]}
`},
	})
	var got []string
	for _, p := range config.Problems(err) {
		got = append(got, p.Key)
	}
	want := []string{
		"unknown", "compression.nothing", "summarizer.routes[1].wrong", "compression.recall", "lease",
		"listen", "upstream", "compression.trigger", "summarizer.routes[0].name", "summarizer.routes[1].url",
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("got problems %q, want %q", got, want)
	}
	if len(config.Problems(nil)) != 0 || len(config.Problems(errors.New("x"))) != 0 {
		t.Error("no problem is a problem")
	}
}

func TestSecretsAreNeverPrinted(t *testing.T) {
	t.Parallel()
	c := config.Default()
	c.AdminToken, c.RedisURL, c.StoreKeys = "hunter2", "redis://:hunter2@r", "a=hunter2"
	c.Summarizer.Routes = []config.Route{{Name: "a", Key: "hunter2"}}
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		if text := fmt.Sprintf(format, c); strings.Contains(text, "hunter2") {
			t.Errorf("%s prints a secret: %s", format, text)
		}
	}
}

func FuzzLoadYAML(f *testing.F) {
	for _, seed := range []string{
		"", "a", "lease: 2s", "windows: {a: 1/2}", "x: &a [*a]", "summarizer: {routes: [{name: a}]}", "? [a]\n: b", "<<: {a: 1}", "!!str 1: 2", "a: |\n  b", "\t", "---\n...\n---\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, content string) {
		_, err := load(t, sources{args: []string{"--config=f", "--upstream", upstream}, files: map[string]string{"f": content}})
		if err != nil && len(config.Problems(err)) == 0 {
			t.Errorf("an error that is no problem: %v", err)
		}
	})
}
