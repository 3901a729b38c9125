package window

import (
	"strings"
	"testing"
)

// TestModels holds models.txt to its form: it is edited by hand.
func TestModels(t *testing.T) {
	models, err := newTable(modelsText)
	if err != nil {
		t.Fatal(err)
	}
	if len(models) < 200 {
		t.Errorf("only %d models", len(models))
	}
	for name, k := range models {
		if name != strings.ToLower(name) || strings.ContainsAny(name, "/@:*") || len(name) > MaxName {
			t.Errorf("%s: the lookup never asks for this name", name)
		}
		if k.Total < MinLearned || k.Total > MaxLearned {
			t.Errorf("%s: the total %d is not plausible", name, k.Total)
		}
		if k.Input < 0 || k.Input > k.Total || k.Output < 0 || k.Output > k.Total {
			t.Errorf("%s: %+v: a part is more than the whole", name, k.Limits)
		}
		if got, ok := models.lookup(strings.ToUpper("any/" + name)); !ok || got != k.Limits {
			t.Errorf("%s: lookup = %+v, %v, want %+v", name, got, ok, k.Limits)
		}
	}
}

func TestNewTableRefuses(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"missing field", "gpt 1000 -", "line 1"},
		{"no number", "# head\ngpt 1000 x -", "line 2"},
		{"twice", "gpt 1000 - -\ngpt* 1000 - -", "gpt stands twice"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := newTable(tc.text)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v does not say %q", err, tc.want)
			}
		})
	}
}
