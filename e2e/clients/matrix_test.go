package clients

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// row is one case of one client.
type row struct{ client, version, name, direct, gateway string }

// table collects the rows of a run.
type table struct {
	mu       sync.Mutex
	rows     []row
	requests int
	notes    []string // of the run, not of the page
}

var matrix table

func (m *table) add(r row) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rows = append(m.rows, r)
}

func (m *table) compared(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests += n
}

// note adds a line of figures that may differ from run to run.
func (m *table) note(format string, args ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.notes = append(m.notes, fmt.Sprintf(format, args...))
}

// finish prints the run, and writes the page where FOLDGATE_MATRIX names it. In CI
// it is held against the one that stands there instead.
func (m *table) finish() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	// The clients ran at once; each one's cases stay in their order.
	slices.SortStableFunc(m.rows, func(a, b row) int { return strings.Compare(strings.ToLower(a.client), strings.ToLower(b.client)) })
	for _, r := range m.rows {
		fmt.Printf("%-32s %-8s %-16s %-52s %s\n", r.client, r.version, r.name, r.direct, r.gateway)
	}
	fmt.Printf("%d cases, %d requests that fit: the same bytes direct and through the gateway\n", len(m.rows), m.requests)
	for _, n := range m.notes {
		fmt.Println(n)
	}
	name := os.Getenv("FOLDGATE_MATRIX")
	if name == "" {
		return nil
	}
	if os.Getenv("CI") != "" {
		if stands, err := os.ReadFile(name); err != nil || string(stands) != m.page() {
			return fmt.Errorf("%s is not what this run says (%v): make test-clients writes it", name, err)
		}
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return fmt.Errorf("making the folder of the matrix: %w", err)
	}
	if err := os.WriteFile(name, []byte(m.page()), 0o644); err != nil {
		return fmt.Errorf("writing the matrix: %w", err)
	}
	return nil
}

// page is the matrix as Markdown. Nothing in it depends on the machine or the time.
func (m *table) page() string {
	var b strings.Builder
	b.WriteString("# Clients\n\n" +
		"Written by `make test-clients`. Each client ran twice, direct and through the gateway, with the same assertions; what a cell\n" +
		"says is what the client saw. Every request that fits reached the model server with the same bytes both ways: method, path,\n" +
		"query, header fields but the hop-by-hop ones, body. Responses differ by Foldgate's own header fields alone.\n")
	client := ""
	for _, r := range m.rows {
		if r.client != client {
			client = r.client
			fmt.Fprintf(&b, "\n## %s %s\n\n| case | direct | through the gateway |\n|---|---|---|\n", r.client, r.version)
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", r.name, cell(r.direct), cell(r.gateway))
	}
	return b.String()
}

func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }
