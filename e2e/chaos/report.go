package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// failed is an error that tells all that a book must not hold, or nil.
func failed(led *ledger) error {
	list := led.failures()
	if len(list) == 0 {
		return nil
	}
	return errors.New(strings.Join(list, "\n"))
}

// row is one line of the results.
type row struct {
	group, name        string
	runs, requests     int
	saw                string
	lost, wrong, store int
	judged, sweeps     int
	took               time.Duration
}

// table collects what each scenario came to.
type table struct {
	sums bool // one line for each group, not for each scenario
	rows []row
}

func (t *table) enter(group string, led *ledger, took time.Duration) error {
	saw := led.told()
	led.mu.Lock()
	r := row{
		group: group, name: led.name, runs: 1, requests: led.requests, saw: saw,
		lost: len(led.lost), wrong: len(led.wrong), store: len(led.store), judged: led.judged, sweeps: led.sweeps, took: took,
	}
	led.mu.Unlock()
	t.rows = append(t.rows, r)
	fmt.Fprintf(os.Stderr, "%-50s %6d requests, lost %d, wrong %d, store %d, %v\n", r.name, r.requests, r.lost, r.wrong, r.store, took.Round(time.Second))
	return failed(led)
}

func (t *table) text(w *world, left error, most int64) string {
	rows := t.rows
	var total row
	byGroup := map[string]*row{}
	var groups []string
	for _, r := range rows {
		g := byGroup[r.group]
		if g == nil {
			g = &row{group: r.group}
			byGroup[r.group] = g
			groups = append(groups, r.group)
		}
		for _, to := range []*row{g, &total} {
			to.runs += r.runs
			to.requests += r.requests
			to.lost += r.lost
			to.wrong += r.wrong
			to.store += r.store
			to.judged += r.judged
			to.sweeps += r.sweeps
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n%d faults, %d requests: **%d lost, %d wrong, %d breaches of the store's invariants.** ", total.runs, total.requests, total.lost, total.wrong, total.store)
	fmt.Fprintf(&b, "The store was looked through %d times, and %d commits were held against the owner of their moment. ", total.sweeps, total.judged)
	fmt.Fprintf(&b, "Left over at the end: %s. The most memory of a replica: %d MiB, of %d allowed.\n\n", cmp.Or(errText(left), "nothing"), most>>20, 3*w.options.memory+300)
	if t.sums {
		b.WriteString("| faults of | times | requests | lost | wrong | store |\n|---|---|---|---|---|---|\n")
		slices.Sort(groups)
		for _, name := range groups {
			g := byGroup[name]
			fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %d |\n", name, g.runs, g.requests, g.lost, g.wrong, g.store)
		}
		return b.String()
	}
	b.WriteString("| fault | requests | lost | wrong | store | what callers saw |\n|---|---|---|---|---|---|\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %s |\n", r.name, r.requests, r.lost, r.wrong, r.store, r.saw)
	}
	return b.String()
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// text is the table of a run under load.
func (r loadResult) text() string {
	ms := func(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000) }
	var b strings.Builder
	r.ledger.mu.Lock()
	lost, wrong, store, requests := len(r.ledger.lost), len(r.ledger.wrong), len(r.ledger.store), r.ledger.requests
	r.ledger.mu.Unlock()
	fmt.Fprintf(&b, "\n%d requests in %v, at most %d answers under way at once: **%d lost, %d wrong, %d breaches of the store's invariants.** ", requests, r.took.Round(time.Second), r.atOnce, lost, wrong, store)
	fmt.Fprintf(&b, "Left over at the end: %s.\n\n", cmp.Or(errText(r.leftover), "nothing"))
	b.WriteString("| small requests | measured | p50 | p99 | processors used: callers and servers around | both replicas | Redis | oversized streams answered |\n|---|---|---|---|---|---|---|---|\n")
	for _, m := range r.rows {
		fmt.Fprintf(&b, "| %s | %d | %s | %s | %.2f | %.2f | %.2f | %d |\n", m.row.name, m.small.requests, ms(m.small.p50), ms(m.small.p99), m.used.self, m.used.replicas, m.used.store, m.streams)
	}
	b.WriteString("\n| | |\n|---|---|\n")
	fmt.Fprintf(&b, "| small streams answered, of %d callers | %d |\n", smallStreams, r.small)
	fmt.Fprintf(&b, "| what callers saw | %s |\n", r.ledger.told())
	fmt.Fprintf(&b, "| store calls that failed | %s |\n", cmp.Or(r.failed, "none"))
	fmt.Fprintf(&b, "| the most memory of a replica | %d MiB, of %d allowed |\n", r.memory>>20, r.memoryBound>>20)
	return b.String()
}

// stamp says when, on what and how it ran.
func stamp(began time.Time, command string) string {
	return fmt.Sprintf("%s, %d cores of an %s, %s. `%s`, %v.\n", began.UTC().Format(time.DateOnly), runtime.NumCPU(), processor(), runtime.Version(), strings.TrimSpace(command), time.Since(began).Round(time.Second))
}

// processor is the machine's own name for it.
func processor() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	defer func() { _ = f.Close() }()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if name, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

// withoutPage is the command line without what only says where it is written.
func withoutPage(args []string) (out []string) {
	for i := 0; i < len(args); i++ {
		switch strings.TrimLeft(args[i], "-") {
		case "o", "gateway":
			i++
		default:
			out = append(out, args[i])
		}
	}
	return out
}

// writePart replaces what stands between the marks of a part.
func writePart(page, part, text string) error {
	raw, err := os.ReadFile(page)
	if err != nil {
		return fmt.Errorf("read the page: %w", err)
	}
	begin, end := "<!-- "+part+": begin -->\n", "<!-- "+part+": end -->"
	before, rest, ok := strings.Cut(string(raw), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		return fmt.Errorf("%s has no part %q", page, part)
	}
	if err := os.WriteFile(page, []byte(before+begin+text+end+after), 0o644); err != nil { //nolint:gosec // a page
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}
