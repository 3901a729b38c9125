package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// report is what was measured, to be written down.
type report struct {
	shares  shares
	quick   bool
	results []result
	named   named
}

// table writes rows as Markdown.
type table struct{ b *strings.Builder }

func (r *report) table(b *strings.Builder, columns ...string) table {
	t := table{b}
	t.row(columns...)
	t.row(strings.Split(strings.Repeat("---|", len(columns)-1)+"---", "|")...)
	return t
}

func (t table) row(cells ...string) {
	t.b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}

// markdown is all tables, as they go into a document.
func (r *report) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Measured on %s (%s) by `make eval`.\n", time.Now().Format(time.DateOnly), machine())
	fmt.Fprintf(&b, "One setting for all files: %s.\n\n", r.shares.String())
	r.means(&b)
	r.fileAims(&b)
	r.everyFile(&b)
	r.defaults(&b)
	if !r.quick {
		r.shapes(&b)
		r.identifiers(&b)
		r.unrelated(&b)
		r.growth(&b)
		r.estimates(&b)
	}
	r.broken(&b)
	return b.String()
}

// summary is what is told where the tables go into a file.
func (r *report) summary() string {
	var b strings.Builder
	r.means(&b)
	r.broken(&b)
	r.examples(&b)
	return b.String()
}

// printed is what is told where they do not.
func (r *report) printed() string {
	var b strings.Builder
	b.WriteString(r.markdown())
	r.examples(&b)
	return b.String()
}

// machine is the size of the machine.
func machine() string {
	cores := fmt.Sprintf("%d cores", runtime.NumCPU())
	raw, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return cores
	}
	var kib int
	if _, err := fmt.Sscanf(string(raw), "MemTotal: %d kB", &kib); err != nil {
		return cores
	}
	return fmt.Sprintf("%s, %.0f GiB", cores, float64(kib)/(1<<20))
}

func ratio(x float64) string { return fmt.Sprintf("%.2f", x) }

func (s score) String() string {
	if recall, ok := s.share(); ok {
		return ratio(recall)
	}
	return "-"
}

// verdict says whether a target was reached.
func verdict(got, want, slack float64) string {
	if got+slack+1e-9 >= want {
		return "reached"
	}
	return "missed"
}

// means writes the means over the development files, beside their targets.
func (r *report) means(b *strings.Builder) {
	b.WriteString("### Means over the development files\n\n")
	columns := []string{"method"}
	for _, percent := range budgets {
		columns = append(columns, fmt.Sprintf("%d %%", percent))
	}
	t := r.table(b, append(columns, "target at 10 %", "target at 25 %")...)
	for m := range methods {
		cells := []string{m.String()}
		var got [len(budgets)]float64
		for i := range budgets {
			x, n := mean(r.results, func(x *result) score { return x.cells[i].scores[m] })
			got[i] = x
			if n == 0 {
				cells = append(cells, "-")
				continue
			}
			cells = append(cells, fmt.Sprintf("%.2f (%d)", x, n))
		}
		goal := []string{"", ""}
		for _, a := range aims() {
			for i := range goal {
				if a.by == m && a.reach[i] > 0 {
					goal[i] = ratio(a.reach[i]) + " " + verdict(got[i], a.reach[i], 0.005)
				}
			}
		}
		t.row(append(cells, goal...)...)
	}
	b.WriteString("\nIn brackets: over how many files.\n\n")
}

// fileAims writes the targets of single files.
func (r *report) fileAims(b *strings.Builder) {
	fmt.Fprintf(b, "### Targets of single files\n\nA file misses its target where it is more than %.2f under it.\n\n", slack)
	t := r.table(b, "file", "fold, 10 %", "25 %", "fold + recall, 10 %", "25 %")
	for i := range r.results {
		x := &r.results[i]
		a, ok := aimOf(x.file.name)
		if !ok {
			continue
		}
		cells := []string{x.file.name}
		for _, column := range []struct {
			by   method
			want [2]float64
		}{{byFold, a.without}, {byRecall, a.with}} {
			for k := range column.want {
				got, ok := x.cells[k].scores[column.by].share()
				switch {
				case !ok || column.want[k] == 0:
					cells = append(cells, x.cells[k].scores[column.by].String())
				default:
					cells = append(cells, fmt.Sprintf("%.2f of %.2f %s", got, column.want[k], verdict(got, column.want[k], slack)))
				}
			}
		}
		t.row(cells...)
	}
	b.WriteString("\n")
}

// everyFile writes the table of all files.
func (r *report) everyFile(b *strings.Builder) {
	b.WriteString("### Every file\n\n")
	columns := []string{"file", "budget", "facts"}
	for m := range methods {
		columns = append(columns, m.String())
	}
	t := r.table(b, append(columns, "invented", "rules", "largest", "ms")...)
	for i := range r.results {
		x := &r.results[i]
		for k, percent := range budgets {
			c := &x.cells[k]
			cells := []string{x.file.name, fmt.Sprintf("%d %% = %d", percent, c.budget), fmt.Sprint(c.scores[0].of)}
			for m := range methods {
				cells = append(cells, c.scores[m].String())
			}
			t.row(append(cells, c.hard()...)...)
		}
	}
	b.WriteString("\n")
}

// hard is what broke a hard rule in a cell, and its time.
func (c *cell) hard() []string {
	size := fmt.Sprintf("%.1f %%", float64(c.tally.worst)/10)
	if c.tally.over.n > 0 {
		size += fmt.Sprintf(", %d over", c.tally.over.n)
	}
	if c.tally.folds == c.tally.excused {
		size = "-"
	}
	cold := "-"
	if c.cold > 0 {
		cold = fmt.Sprintf("%.1f", float64(c.cold.Microseconds())/1000)
	}
	return []string{fmt.Sprint(c.tally.invented.n), fmt.Sprint(c.tally.rules.n), size, cold}
}
