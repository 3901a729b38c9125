package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// profiledMain is added to the gateway's main package by an overlay of the build,
// so that profiles can be taken of it without a door for them in the program.
const profiledMain = `package main

import (
	"net/http"
	_ "net/http/pprof"
	"os"
	"runtime"
)

func init() {
	if addr := os.Getenv("FOLDGATE_BENCH_PPROF"); addr != "" {
		runtime.MemProfileRate = 64 << 10
		go func() { _ = http.ListenAndServe(addr, nil) }()
	}
}
`

// profiledSource writes the overlay and returns its name.
func profiledSource(o *options, root string) (string, error) {
	source, overlay := filepath.Join(o.tools, "profiled.go"), filepath.Join(o.tools, "overlay.json")
	if err := os.WriteFile(source, []byte(profiledMain), 0o600); err != nil {
		return "", fmt.Errorf("write the overlay: %w", err)
	}
	text := mustJSON(map[string]any{"Replace": map[string]string{filepath.Join(root, "cmd", "gateway", "profiled.go"): source}})
	if err := os.WriteFile(overlay, text, 0o600); err != nil {
		return "", fmt.Errorf("write the overlay: %w", err)
	}
	return overlay, nil
}

// profiledAddr is where a profiled gateway shows its profiles: the only one that
// does so at a time.
const profiledAddr = "127.0.0.1:6391"

func profileAddr(o *options) string {
	if o.profile == "" {
		return ""
	}
	return profiledAddr
}

// profiles loads some targets again, each with a CPU profile and what it allocated
// meanwhile. Nothing is done where no profiles are asked for.
func (b *bench) profiles(part string, g *gateway, targets ...*target) error {
	if b.o.profile == "" {
		return nil
	}
	if err := os.MkdirAll(b.o.profile, 0o755); err != nil { //nolint:gosec // for whoever asked
		return fmt.Errorf("make the folder for profiles: %w", err)
	}
	seconds := b.of(8, 14)
	for i, t := range targets {
		b.say("  profile of %s, target %d", part, i+1)
		l := t.load
		l.warm, l.window, l.least = 500*time.Millisecond, time.Duration(seconds)*time.Second, 0
		loaded := make(chan *sample, 1)
		go func() { loaded <- l.run() }()
		for _, kind := range []string{"profile", "allocs"} {
			name := filepath.Join(b.o.profile, fmt.Sprintf("%s-%d-%s.pprof", part, i+1, kind))
			if err := fetchProfile(fmt.Sprintf("http://%s/debug/pprof/%s?seconds=%d", profiledAddr, kind, (seconds-1)/2), name); err != nil {
				<-loaded
				return err
			}
		}
		if s := <-loaded; s.err != nil {
			return fmt.Errorf("under the profile: %w", s.err)
		}
	}
	return nil
}

func fetchProfile(address, name string) error {
	res, err := local.Get(address) //nolint:noctx // the client has a time-out
	if err != nil {
		return fmt.Errorf("take a profile: %w", err)
	}
	defer func() { _ = res.Body.Close() }()
	f, err := os.Create(name) //nolint:gosec // a folder that the caller named
	if err != nil {
		return fmt.Errorf("write a profile: %w", err)
	}
	if _, err := io.Copy(f, res.Body); err != nil {
		return fmt.Errorf("write a profile: %w", err)
	}
	return f.Close()
}
