package deploy

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"sigs.k8s.io/yaml"
)

// filled is a panel's query as Grafana sends it.
func filled(expr string) string {
	return strings.NewReplacer("$__rate_interval", "1m", "$instance", ".*").Replace(expr)
}

// alert is one rule of docs/alerts.yaml.
type alert struct {
	Alert, Expr, For    string
	Labels, Annotations map[string]string
}

func alerts(t *testing.T) (all []alert) {
	t.Helper()
	var file struct {
		Groups []struct {
			Name  string
			Rules []alert
		}
	}
	if err := yaml.UnmarshalStrict([]byte(read(t, "docs/alerts.yaml")), &file); err != nil {
		t.Fatal(err)
	}
	for _, g := range file.Groups {
		all = append(all, g.Rules...)
	}
	if len(all) == 0 || len(all) > 5 {
		t.Fatalf("%d alerts, want one to five", len(all))
	}
	return all
}

// queries are all that panels and alerts ask, by what asks it.
func queries(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, p := range panels(t) {
		for i, target := range p.Targets {
			all[fmt.Sprintf("panel %q, query %d", p.Title, i)] = filled(target.Expr)
		}
	}
	for _, a := range alerts(t) {
		all["alert "+a.Alert] = a.Expr
	}
	return all
}

// exported are metrics and the labels that they were seen with.
type exported map[string]map[string]bool

func (e exported) add(name string, labels ...string) {
	if e[name] == nil {
		e[name] = map[string]bool{"instance": true, "job": true} // Prometheus adds them
	}
	for _, l := range labels {
		e[name][l] = true
	}
}

var (
	sample = regexp.MustCompile(`(?m)^([a-z_]+)(?:\{(.*)\})? \S+$`)
	label  = regexp.MustCompile(`([a-z_]+)="(?:[^"\\]|\\.)*"`)
)

// scraped is what the replicas export now.
func (top *topology) scraped(t *testing.T) exported {
	t.Helper()
	all := exported{}
	for _, replica := range replicas(top.Project) {
		for _, m := range sample.FindAllStringSubmatch(top.metrics(t, replica), -1) {
			all.add(m[1])
			for _, l := range label.FindAllStringSubmatch(m[2], -1) {
				all.add(m[1], l[1])
			}
		}
	}
	all.add("up")
	return all
}

// catalog is the table of docs/operating.md, which is made from the program's own
// list: it has what is exported only once something went wrong.
func catalog(t *testing.T) exported {
	t.Helper()
	all := exported{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| (\\w+)[^|]*\\| ([^|]*)\\|").FindAllStringSubmatch(read(t, "docs/operating.md"), -1) {
		var names []string
		for _, l := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(m[3], -1) {
			names = append(names, l[1])
		}
		if m[2] != "histogram" {
			all.add(m[1], names...)
			continue
		}
		all.add(m[1]+"_bucket", append(names, "le")...)
		all.add(m[1]+"_sum", names...)
		all.add(m[1]+"_count", names...)
	}
	if len(all) < 30 {
		t.Fatalf("found %d metrics only in docs/operating.md", len(all))
	}
	return all
}

// parse reads a query with Prometheus' own parser.
func parse(t *testing.T, who, expr string) parser.Expr {
	t.Helper()
	parsed, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
	if err != nil {
		t.Fatalf("%s: %v\n%s", who, err, expr)
	}
	return parsed
}

// asked is what a query needs: metrics, and of each the labels.
func asked(expr parser.Expr) exported {
	all := exported{}
	parser.Inspect(expr, func(node parser.Node, above []parser.Node) error {
		selector, ok := node.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		all.add(selector.Name)
		for _, m := range selector.LabelMatchers {
			if m.Name != labels.MetricName {
				all.add(selector.Name, m.Name)
			}
		}
		for _, n := range above {
			if aggregate, ok := n.(*parser.AggregateExpr); ok && !aggregate.Without {
				all.add(selector.Name, aggregate.Grouping...)
			}
		}
		return nil
	})
	return all
}

func TestQueriesParse(t *testing.T) {
	t.Parallel()
	for who, expr := range queries(t) {
		if needs := asked(parse(t, who, expr)); len(needs) == 0 {
			t.Errorf("%s asks for nothing: %s", who, expr)
		}
	}
}

// rare are metrics that show only when something fails that does not fail in
// TestCompose. For them the catalog is the witness.
var rare = []string{"foldgate_fence_refusals_total"}

// testMetrics makes happen what can be made to happen, so that as much as possible is
// exported, and then looks for each metric and label that somebody asks for.
func testMetrics(t *testing.T, top *topology) {
	provoke(t, top)
	have, known := top.scraped(t), catalog(t)
	seen := 0
	for who, expr := range queries(t) {
		for name, wanted := range asked(parse(t, who, expr)) {
			labels := have[name]
			if labels == nil && slices.Contains(rare, name) {
				labels = known[name]
			} else if labels != nil {
				seen++
			}
			if labels == nil {
				t.Errorf("%s: no replica exports %s", who, name)
				continue
			}
			for l := range wanted {
				if !labels[l] && !known[name][l] {
					t.Errorf("%s: %s has no label %s", who, name, l)
				}
			}
		}
	}
	if seen < 30 {
		t.Errorf("%d of what is asked for was seen", seen)
	}
	for _, name := range rare {
		if have[name] != nil {
			t.Errorf("%s is exported after all", name)
		}
	}
}

// provoke has requests refused, a configuration read again, and the store fail.
func provoke(t *testing.T, top *topology) {
	t.Helper()
	huge := []byte(`{"model":"stand-in","messages":[{"role":"user","content":"` + strings.Repeat("one word after another ", 20_000) + `"}]}`)
	for _, replica := range replicas(top.Project) {
		// A limit that nobody configured is checked against the upstream once an hour:
		// the first such request goes on, and gets the upstream's own refusal.
		first, second := top.chatAt(t, top.at(replica, 8080, ""), huge), top.chatAt(t, top.at(replica, 8080, ""), huge)
		if first.status != 400 || second.status != 400 || !strings.HasPrefix(second.fold, "unfit") {
			t.Errorf("a request that cannot fit: %d %s, then %d %s", first.status, first.fold, second.status, second.fold)
		}
	}
	for _, replica := range replicas(top.Project) {
		top.running[replica].signal(syscall.SIGHUP)
	}
	top.running["redis"].stop(syscall.SIGTERM)
	for _, replica := range replicas(top.Project) {
		if a := top.chatAt(t, top.at(replica, 8080, ""), conversation(t, "attic", 100, false)); a.status != 200 || !strings.HasPrefix(a.fold, "unfenced") {
			t.Errorf("without a store: %+v", a)
		}
	}
	top.start(t, "redis")
	top.healthy(t, "redis")
	until(t, func() string {
		if n := top.counts(t, `foldgate_config_reloads_total{`); len(n) != 2 {
			return fmt.Sprintf("reloads: %v", n)
		}
		return ""
	})
	until(t, func() string { // the breaker closes by itself, on the next request that needs the store
		for _, replica := range replicas(top.Project) {
			if a := top.chatAt(t, top.at(replica, 8080, ""), conversation(t, "shed", 100, false)); !strings.HasPrefix(a.fold, "committed") && !strings.HasPrefix(a.fold, "reused") {
				return fmt.Sprintf("%s, with the store back: %+v", replica, a)
			}
		}
		return ""
	})
}

// quiet are panels that have no answer while nothing of their kind happens.
var quiet = []string{"Folds without a model, by reason", "Refused by their fence", "Summary calls that failed"}

// testPanels asks Prometheus, with the replicas' own series, what each panel asks. A
// rate needs two scrapes, so the first answer may be late.
func testPanels(t *testing.T, top *topology) {
	until(t, func() string {
		var empty []string
		for _, p := range panels(t) {
			n := 0
			for _, target := range p.Targets {
				n += len(top.query(t, filled(target.Expr)))
			}
			if n == 0 && p.Type != "row" && !slices.Contains(quiet, p.Title) {
				empty = append(empty, p.Title)
			}
		}
		if len(empty) > 0 {
			return "these panels show nothing: " + strings.Join(empty, ", ")
		}
		return ""
	})
}
