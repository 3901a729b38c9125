package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// prepare builds the gateway and, where they are measured, the peers. A peer that
// cannot be had is no error: the tables say so.
func prepare(o *options, stderr io.Writer) error {
	if err := os.MkdirAll(o.tools, 0o755); err != nil { //nolint:gosec // programs, for whoever runs them
		return fmt.Errorf("make the folder for tools: %w", err)
	}
	root, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("find the repository: %w", err)
	}
	if _, err := os.Stat(filepath.Join(root, "cmd", "gateway")); err != nil {
		return fmt.Errorf("run this at the root of the repository: %w", err)
	}
	fmt.Fprintln(stderr, "building the gateway")
	argv := []string{"go", "build", "-trimpath", "-o", gatewayPath(o)}
	if o.profile != "" {
		overlay, err := profiledSource(o, root)
		if err != nil {
			return err
		}
		argv = append(argv, "-overlay", overlay)
	}
	if err := build(root, nil, append(argv, "./cmd/gateway")...); err != nil {
		return err
	}
	if slices.Contains(o.parts, "alone") {
		if err := buildAlone(o, root); err != nil {
			return err
		}
	}
	if !slices.Contains(o.parts, "peers") {
		return nil
	}
	for _, p := range allPeers() {
		fmt.Fprintf(stderr, "looking for %s\n", p.name)
		if err := p.obtain(o); err != nil {
			fmt.Fprintf(stderr, "  not to be had: %v\n", err)
			p.missing = plainReason(err)
		}
		if err := p.remember(o); err != nil {
			return err
		}
	}
	return nil
}

// plainReason is an error in one line for a table, without the name of any host.
func plainReason(err error) string {
	text := strings.ReplaceAll(strings.ReplaceAll(err.Error(), "|", "/"), "\n", " ")
	words := strings.Fields(text)
	for i, w := range words {
		if strings.Contains(w, "://") {
			words[i] = "(address)"
		}
	}
	text = strings.Join(words, " ")
	return text[:min(len(text), 160)]
}

// found is what prepare leaves for the run without network.
type found struct{ Path, Version, Missing string }

func (p *peer) remember(o *options) error {
	raw := mustJSON(found{Path: p.path, Version: p.version, Missing: p.missing})
	if err := os.WriteFile(filepath.Join(o.tools, p.name+".json"), raw, 0o600); err != nil {
		return fmt.Errorf("note where %s is: %w", p.name, err)
	}
	return nil
}

func (p *peer) recall(o *options) error {
	raw, err := os.ReadFile(filepath.Join(o.tools, p.name+".json"))
	if err != nil {
		return fmt.Errorf("find %s: %w", p.name, err)
	}
	var f found
	if err := json.Unmarshal(raw, &f); err != nil {
		return fmt.Errorf("find %s: %w", p.name, err)
	}
	p.path, p.version, p.missing = f.Path, f.Version, f.Missing
	return nil
}
