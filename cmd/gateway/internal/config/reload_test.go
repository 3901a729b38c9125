package config_test

import (
	"errors"
	"flag"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/foldgate/foldgate/cmd/gateway/internal/config"
)

// input is what a running program was started with; files change meanwhile.
func input(s sources) config.Input {
	return config.Input{
		Purpose: config.ForServing, Name: "serve", Args: s.args, Environ: s.env,
		ReadFile: func(name string) ([]byte, error) {
			content, ok := s.files[name]
			if !ok {
				return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
			}
			return []byte(content), nil
		},
	}
}

// reload loads by the first file and reloads by the second.
func reload(t *testing.T, s sources, first, second string) (config.Loaded, []string, error) {
	t.Helper()
	s.args = append([]string{"--config", "f.yaml"}, s.args...)
	if s.files == nil {
		s.files = map[string]string{}
	}
	s.files["f.yaml"] = first
	running, err := config.Load(input(s))
	if err != nil {
		t.Fatalf("the start: %v", err)
	}
	s.files["f.yaml"] = second
	return running.Reload(input(s))
}

// Every setting of the file either changes by a reload or refuses it.
func TestReloadKnowsEverySetting(t *testing.T) {
	t.Parallel()
	files := map[string]string{"token": "hunter2", "tenant": "hunter3", "keys": storeKeys, "redis": "redis://:hunter7@r:1"}
	changed := map[string]string{ // by path, another value than the default
		"listen": "127.0.0.1:1", "admin_listen": "127.0.0.1:2", "admin_hosts": "[a]", "admin_token": "hunter4", "admin_token_file": "token",
		"upstream": "https://other.example", "mode": "observe", "windows": "{a: 1000}", "default_window": "32000", "advertised": "false",
		"compression.trigger": "0.7", "compression.keep_recent": "0.2", "compression.recall": "0.05", "compression.prepare": "false",
		"compression.wait": "1s", "compression.reserve_output": "100", "summarizer.routes": "[{name: a}]", "summarizer.idle": "10s",
		"summarizer.ceiling": "100s", "summarizer.max_attempts": "2", "redis_url": "redis://:hunter5@r:1", "redis_url_file": "redis", "lease": "5s", "retention": "1h",
		"hold": "1s", "keepalive": "5s", "body_limit": "1MiB", "memory": "2GiB", "upstream_timeout": "1m", "tenant_header": "X-Team",
		"store_keys": "plain", "store_keys_file": "keys",
		"tenant_secret": "hunter6", "tenant_secret_file": "tenant", "drain_delay": "1s", "drain": "1s", "log_level": "warn", "log_format": "json",
	}
	named := map[string]string{"admin_token_file": "admin_token", "tenant_secret_file": "tenant_secret", "store_keys_file": "store_keys", "redis_url_file": "redis_url"} // what they are values of
	for _, k := range config.Keys() {
		if k.Path == "" {
			continue
		}
		t.Run(k.Path, func(t *testing.T) {
			t.Parallel()
			value, ok := changed[k.Path]
			if !ok {
				t.Fatal("it is in the table and not in this test")
			}
			line := k.Path + ": " + value
			if section, key, nested := strings.Cut(k.Path, "."); nested {
				line = section + ": {" + key + ": " + value + "}"
			}
			first, second := "upstream: "+upstream+"\n", "upstream: "+upstream+"\n"+line
			if k.Path == "upstream" {
				second = line
			}
			_, names, err := reload(t, sources{files: map[string]string{"token": files["token"], "tenant": files["tenant"], "keys": files["keys"], "redis": files["redis"]}}, first, second)
			name := k.Path
			if other := named[name]; other != "" {
				name = other
			}
			if !k.Restart {
				if err != nil || !slices.Equal(names, []string{name}) {
					t.Errorf("got %v, %v", names, err)
				}
				return
			}
			problems := config.Problems(err)
			if len(problems) != 1 || names != nil || problems[0].Key != name || !strings.Contains(problems[0].Error(), "(f.yaml:") ||
				!strings.Contains(problems[0].Error(), "restart") || strings.Contains(problems[0].Error(), "hunter") {
				t.Errorf("got %v, %v", names, err)
			}
		})
	}
}

func TestReloadOfTheSame(t *testing.T) {
	t.Parallel()
	first := "upstream: " + upstream + "\nwindows: {a: 1000, b: 2000}\nadmin_hosts: [x, y]\nlease: 15s\nsummarizer: {routes: [{name: a, api_key_file: k}]}\n"
	other := "# the same in another form\nsummarizer:\n  routes:\n  - api_key_file: k\n    name: a\nadmin_hosts:\n- x\n- y\nwindows:\n  a: 1000\n  b: 2000\nupstream: " + upstream + "\n"
	now, names, err := reload(t, sources{files: map[string]string{"k": "key"}}, first, other)
	if err != nil || len(names) > 0 {
		t.Errorf("got %v, %v", names, err)
	}
	if diff := cmp.Diff([]string{"f.yaml", "k"}, now.Files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// What flags and environment say stays said.
func TestReloadKeepsFlagsAndEnvironment(t *testing.T) {
	t.Parallel()
	s := sources{args: []string{"--hold", "3s", "--summarizer-model", "m"}, env: []string{"FOLDGATE_LEASE=4s"}}
	now, names, err := reload(t, s, "upstream: "+upstream+"\n",
		"upstream: "+upstream+"\nhold: 9s\nlease: 9s\nsummarizer: {routes: [{name: a}]}\nkeepalive: 1s\n")
	if err != nil || !slices.Equal(names, []string{"keepalive"}) {
		t.Errorf("got %v, %v", names, err)
	}
	if now.Hold.String() != "3s" || now.Lease.String() != "4s" || len(now.Summarizer.Routes) != 1 || now.Summarizer.Routes[0].Model != "m" {
		t.Errorf("got %v, %v, %+v", now.Hold, now.Lease, now.Summarizer.Routes)
	}
}

// Problems of every kind are told together, and one that is broken anyway is not
// told a second time.
func TestReloadReportsEverything(t *testing.T) {
	t.Parallel()
	_, names, err := reload(t, sources{}, "upstream: "+upstream+"\n",
		"upstream: "+upstream+"\nlease: soon\nretention: 1h\nmode: observe\nhold: -1s\ntriger: 1\n")
	var keys []string
	for _, p := range config.Problems(err) {
		keys = append(keys, p.Key)
	}
	slices.Sort(keys)
	if want := []string{"hold", "lease", "retention", "triger"}; !slices.Equal(keys, want) || names != nil {
		t.Errorf("got problems of %v, want %v; changed %v", keys, want, names)
	}
	for _, second := range []string{"upstream: [", "- a"} {
		_, _, err := reload(t, sources{}, "upstream: "+upstream+"\nlease: 9s\n", second)
		for _, p := range config.Problems(err) {
			if p.Key == "lease" {
				t.Errorf("%q cannot be read, and still: %v", second, p)
			}
		}
		if len(config.Problems(err)) == 0 {
			t.Errorf("%q: no problem", second)
		}
	}
}

func TestReloadOfACommandLineThatCannotBe(t *testing.T) {
	t.Parallel()
	running, err := config.Load(input(sources{args: []string{"--upstream", upstream}}))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := running.Reload(input(sources{args: []string{"--help"}})); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("got %v", err)
	}
}

// Problems inside a route name the line of the field, or of the route that lacks
// it; those of the flags' route name the flag.
func TestRouteProblemsNameTheirLine(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, routes string
		args         []string
		want         string
	}{
		{name: "a field", routes: "  - name: a\n    url: ws://h\n", want: "summarizer.routes[0].url (f.yaml:5)"},
		{name: "of the second route", routes: "  - name: a\n  - name: b\n    window: -1\n", want: "summarizer.routes[1].window (f.yaml:6)"},
		{name: "a field that is missing", routes: "  - name: a\n\n  - model: m\n    window: 5000\n", want: "summarizer.routes[1].name (f.yaml:6)"},
		{name: "a name twice", routes: "  - name: a\n  - model: m\n    name: a\n", want: "summarizer.routes[1].name (f.yaml:6)"},
		{name: "a variable that is not set", routes: "  - name: a\n    model: m\n    api_key_env: NONE\n", want: "summarizer.routes[0].api_key_env (f.yaml:6)"},
		{name: "a file that is missing", routes: "  - name: a\n    api_key_file: none\n", want: "summarizer.routes[0].api_key_file (f.yaml:5)"},
		{name: "an idle over the ceiling", routes: "  - {name: a, idle: 1h}\n", want: "summarizer.routes[0].idle (f.yaml:4)"},
		{name: "a duration", routes: "  - name: a\n    idle: soon\n", want: "summarizer.routes[0].idle (f.yaml:5)"},
		{name: "a flag's", routes: "  - name: a\n", args: []string{"--summarizer-url", "ws://h"}, want: "summarizer.routes[0].url (flag --summarizer-url)"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := load(t, sources{
				args:  append([]string{"--config", "f.yaml"}, tc.args...),
				files: map[string]string{"f.yaml": "upstream: " + upstream + "\nsummarizer:\n  routes:\n" + tc.routes},
			})
			problems := config.Problems(err)
			if len(problems) != 1 || !strings.HasPrefix(problems[0].Error(), tc.want+":") {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
}

// A file that is being written over is empty for a moment. That is no wish to lose
// every setting, least of all the admin plane's token.
func TestReloadOfAnEmptyFile(t *testing.T) {
	t.Parallel()
	for _, second := range []string{"", "\n", " \n\n"} {
		env := []string{"FOLDGATE_UPSTREAM=" + upstream}
		_, changed, err := reload(t, sources{env: env}, "admin_token: hunter2", second)
		if problems := config.Problems(err); len(problems) != 1 || changed != nil || !strings.Contains(problems[0].Error(), "it is empty") {
			t.Errorf("%q: got %v, %v", second, changed, err)
		}
	}
}
