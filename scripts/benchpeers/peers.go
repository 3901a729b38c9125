package main

import (
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// peer is another project's program that is measured beside the gateway. Nothing
// of it is kept in this repository.
type peer struct {
	name, title, license string
	gateway              bool // it reads chat requests; else it is a proxy, for orientation
	// get finds or installs it, and says where it is and in which version.
	get func(p *peer, o *options) (path, version string, err error)
	// argv, env and fields say how it passes requests on to an upstream.
	setUp func(b *bench, p *peer, addr string, up *process) (env, argv []string, err error)
	// fields are further header lines that its requests need.
	fields func(up *process) map[string]string
	// exact: it passes answers on to the byte.
	exact bool

	path, version, missing string
	process                *process
}

// givenPeers are the peers that the command line brings.
type givenPeers map[string]string

func (g givenPeers) String() string { return "" }

func (g givenPeers) Set(s string) error {
	name, path, ok := strings.Cut(s, "=")
	if !ok || path == "" {
		return errors.New("want NAME=PATH or NAME=PATH@VERSION")
	}
	g[name] = path
	return nil
}

// of is where a peer was said to be, and in which version, if that was said.
func (g givenPeers) of(name string) (path, version string) {
	path, version, _ = strings.Cut(g[name], "@")
	return path, version
}

// obtain finds a peer. One that was built before is taken as it is.
func (p *peer) obtain(o *options) (err error) {
	p.path, p.version, err = p.get(p, o)
	return err
}

func allPeers() []*peer {
	return []*peer{ferro(), portkey(), nginx(), caddy()}
}

// The versions that are asked for. Another one, given by -peer, is named by what
// it says itself.
const (
	ferroModule   = "github.com/ferro-labs/ai-gateway"
	ferroVersion  = "v1.4.1"
	caddyModule   = "github.com/caddyserver/caddy/v2"
	caddyVersion  = "v2.11.9"
	portkeyModule = "@portkey-ai/gateway"
	portkeyNumber = "1.15.2"
)

func ferro() *peer {
	return &peer{
		name: "ferro", title: "Ferro Labs AI Gateway", license: "Apache-2.0", gateway: true,
		get: func(_ *peer, o *options) (string, string, error) {
			return goProgram(o, "ferro", ferroModule+"/cmd/ferrogw", ferroVersion, "ferrogw")
		},
		setUp: func(b *bench, p *peer, addr string, up *process) ([]string, []string, error) {
			config := filepath.Join(b.temp, "ferro.yaml")
			text := "apiVersion: v1\nstrategy:\n  mode: single\ntargets:\n  - virtual_key: openai\n"
			if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
				return nil, nil, fmt.Errorf("write a configuration: %w", err)
			}
			return []string{
				"PORT=" + portOf(addr), "OPENAI_API_KEY=bench-key-0000000001", "OPENAI_BASE_URL=http://" + up.addr,
				"ALLOW_UNAUTHENTICATED_PROXY=true", "GATEWAY_CONFIG=" + config, "LOG_LEVEL=error", "RATE_LIMIT_RPS=0", "MASTER_KEY=bench-master-key-0000000000000001",
			}, []string{p.path, "serve"}, nil
		},
	}
}

func portkey() *peer {
	return &peer{
		name: "portkey", title: "Portkey AI Gateway", license: "MIT", gateway: true,
		get: func(_ *peer, o *options) (string, string, error) {
			dir, _ := o.given.of("portkey")
			if dir == "" {
				dir = filepath.Join(o.tools, "portkey")
			}
			server := filepath.Join(dir, "node_modules", portkeyModule, "build", "start-server.js")
			if _, err := exec.LookPath("node"); err != nil {
				return "", "", fmt.Errorf("it runs on node: %w", err)
			}
			if _, err := os.Stat(server); err != nil {
				if err := build("", nil, "npm", "install", "--no-audit", "--no-fund", "--prefix", dir, portkeyModule+"@"+portkeyNumber); err != nil {
					return "", "", err
				}
			}
			return server, packageVersion(filepath.Join(dir, "node_modules", portkeyModule, "package.json")), nil
		},
		setUp: func(_ *bench, p *peer, addr string, _ *process) ([]string, []string, error) {
			return []string{"TRUSTED_CUSTOM_HOSTS=127.0.0.1,localhost", "NODE_ENV=production"}, []string{"node", p.path, "--headless", "--port=" + portOf(addr)}, nil
		},
		fields: func(up *process) map[string]string {
			return map[string]string{"x-portkey-provider": "openai", "x-portkey-custom-host": "http://" + up.addr + "/v1"}
		},
	}
}

func nginx() *peer {
	return &peer{
		name: "nginx", title: "nginx", license: "BSD-2-Clause", exact: true,
		get: func(_ *peer, o *options) (string, string, error) {
			path, _ := o.given.of("nginx")
			if path == "" {
				for _, name := range []string{"nginx", "/usr/sbin/nginx"} {
					if found, err := exec.LookPath(name); err == nil {
						path = found
					}
				}
			}
			if path == "" {
				return "", "", errors.New("it is not installed")
			}
			return path, saidVersion(path, "-v"), nil
		},
		setUp: func(b *bench, p *peer, addr string, up *process) ([]string, []string, error) {
			config := filepath.Join(b.temp, "nginx.conf")
			text := fmt.Sprintf(nginxConfig, b.temp, b.temp, up.addr, b.temp, b.temp, b.temp, b.temp, b.temp, addr)
			if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
				return nil, nil, fmt.Errorf("write a configuration: %w", err)
			}
			return nil, []string{p.path, "-c", config, "-e", filepath.Join(b.temp, "nginx-error.log")}, nil
		},
	}
}

const nginxConfig = `daemon off;
worker_processes auto;
pid %s/nginx.pid;
error_log %s/nginx-error.log error;
events { worker_connections 4096; }
http {
  access_log off;
  upstream api { server %s; keepalive 512; keepalive_requests 1000000; }
  keepalive_requests 1000000;
  client_max_body_size 64m;
  client_body_temp_path %s/nginx-body;
  proxy_temp_path %s/nginx-proxy;
  fastcgi_temp_path %s/nginx-fastcgi;
  uwsgi_temp_path %s/nginx-uwsgi;
  scgi_temp_path %s/nginx-scgi;
  server {
    listen %s;
    location / {
      proxy_pass http://api;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_request_buffering off;
      proxy_buffering off;
    }
  }
}
`

func caddy() *peer {
	return &peer{
		name: "caddy", title: "Caddy", license: "Apache-2.0", exact: true,
		get: func(_ *peer, o *options) (string, string, error) {
			return goProgram(o, "caddy", caddyModule+"/cmd/caddy", caddyVersion, "caddy")
		},
		setUp: func(b *bench, p *peer, addr string, up *process) ([]string, []string, error) {
			config := filepath.Join(b.temp, "Caddyfile")
			text := fmt.Sprintf("{\n\tadmin off\n\tauto_https off\n\tlog {\n\t\tlevel ERROR\n\t}\n}\nhttp://%s {\n\treverse_proxy http://%s {\n\t\tflush_interval -1\n\t\ttransport http {\n\t\t\tkeepalive_idle_conns_per_host 1024\n\t\t}\n\t}\n}\n",
				addr, up.addr)
			if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
				return nil, nil, fmt.Errorf("write a configuration: %w", err)
			}
			return []string{"XDG_DATA_HOME=" + b.temp, "XDG_CONFIG_HOME=" + b.temp}, []string{p.path, "run", "--config", config, "--adapter", "caddyfile"}, nil
		},
	}
}

// goProgram is a Go program that was given, was built before, or is built now.
func goProgram(o *options, name, pkg, version, program string) (path, at string, err error) {
	path, at = o.given.of(name)
	if path == "" {
		path = filepath.Join(o.tools, program)
		if _, err := os.Stat(path); err != nil {
			if err := build(o.tools, []string{"GOBIN=" + o.tools, "GOFLAGS="}, "go", "install", pkg+"@"+version); err != nil {
				return "", "", err
			}
		}
	}
	if at != "" {
		return path, at, nil
	}
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return "", "", fmt.Errorf("read what it was built from: %w", err)
	}
	at = info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && (at == "" || at == "(devel)") {
			at = s.Value[:min(7, len(s.Value))]
		}
	}
	return path, at, nil
}

func packageVersion(path string) string {
	var p struct{ Version string }
	raw, err := os.ReadFile(path) //nolint:gosec // of a peer that was just installed
	if err == nil && json.Unmarshal(raw, &p) == nil {
		return p.Version
	}
	return ""
}

// saidVersion is the first number that a program says of itself.
func saidVersion(path, flag string) string {
	out, _ := exec.Command(path, flag).CombinedOutput() //nolint:gosec,noctx // a peer, asked for its version
	return regexp.MustCompile(`\d+(\.\d+)+`).FindString(string(out))
}

func portOf(addr string) string { return addr[strings.LastIndexByte(addr, ':')+1:] }
