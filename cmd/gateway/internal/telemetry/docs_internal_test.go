package telemetry

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/foldgate/foldgate/internal/semconv"
)

// named is a series as texts write it: its name and, maybe, its selector.
var named = regexp.MustCompile(`\b((?:foldgate|http_server|http_client|gen_ai_client)_[a-z_]*[a-z])\b(?:\{([^}]*)\})?`)

// selector is one label of a selector.
var selector = regexp.MustCompile(`([a-z_]+)(=~|!~|!=|=)"([^"]*)"`)

// Whatever the documentation names there is: metrics, labels, values.
func TestDocumentationNamesWhatThereIs(t *testing.T) {
	t.Parallel()
	known := make(map[string]Instrument)
	for _, i := range Instruments() {
		known[i.Prometheus()] = i
		if i.Kind == Histogram {
			for _, ending := range []string{"_bucket", "_sum", "_count"} {
				known[i.Prometheus()+ending] = i
			}
		}
	}
	for _, file := range []string{"README.md", "CONTRIBUTING.md", "docs/operating.md", "docs/alerts.yaml", "docs/configuration.md", "docs/library.md", "docs/ownership.md"} {
		text, err := os.ReadFile("../../../../" + file)
		if err != nil {
			t.Fatal(err)
		}
		found := named.FindAllStringSubmatch(string(text), -1)
		if len(found) == 0 && strings.HasSuffix(file, "alerts.yaml") {
			t.Errorf("%s: no metric is named", file)
		}
		for _, m := range found {
			i, ok := known[m[1]]
			if !ok {
				t.Errorf("%s names the metric %s, which there is not", file, m[1])
				continue
			}
			for _, wrong := range wrongLabels(i, m[2]) {
				t.Errorf("%s: %s", file, wrong)
			}
		}
	}
}

// wrongLabels are the labels of a selector that the instrument has not, and the
// values that they cannot have.
func wrongLabels(i Instrument, in string) (wrong []string) {
	for _, s := range selector.FindAllStringSubmatch(in, -1) {
		label, value := s[1], s[3]
		at := slices.IndexFunc(i.Labels, func(l Label) bool { return strings.ReplaceAll(string(l.Key), ".", "_") == label })
		switch {
		case at >= 0:
		case label == "le" && i.Kind == Histogram:
			continue
		default:
			wrong = append(wrong, i.Name+" has no label "+label)
			continue
		}
		for v := range strings.SplitSeq(value, "|") {
			if values := valuesOf(i, label); values != nil && !slices.Contains(values, v) {
				wrong = append(wrong, i.Name+": "+label+" is never "+v)
			}
		}
	}
	return wrong
}

// valuesOf are a label's values; nil: any may be.
func valuesOf(i Instrument, label string) []string {
	switch label {
	case "reason":
		if i.Name == semconv.MetricUnopened {
			return unopenedReasons()
		}
		return append(reasons(), "none", other)
	case "operation":
		return append(operations(), other)
	case "part":
		return []string{"upstream", "summarizer"}
	case "answer":
		return []string{"superseded", "lost", "ended", other}
	case "kind":
		if i.Name == semconv.MetricFolds {
			return append(kinds(), other)
		}
		return []string{"unavailable", "indeterminate", other}
	case "outcome":
		if i.Name == semconv.MetricReloads {
			return []string{string(ReloadChanged), string(ReloadUnchanged), string(ReloadRefused)}
		}
		return append(outcomes(), "none", other)
	}
	return nil
}

// A test that finds nothing wrong in anything would pass for ever.
func TestWrongNamesAreFound(t *testing.T) {
	t.Parallel()
	folds := Instruments()[0]
	for in, want := range map[string]int{
		`kind="unfit"`: 0, `kind=~"reused|committed",reason="none"`: 0, `kind="unfitt"`: 1, `kind=~"reused|nothing"`: 1, `model="x"`: 1, `le="1"`: 1,
	} {
		if got := wrongLabels(folds, in); len(got) != want {
			t.Errorf("%s: %q, want %d", in, got, want)
		}
	}
	if named.FindStringSubmatch("rate(foldgate_nothing_total[5m])")[1] != "foldgate_nothing_total" {
		t.Error("a metric that there is not would not be seen")
	}
}
