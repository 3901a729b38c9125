package window_test

import (
	"strings"
	"testing"

	"github.com/foldgate/foldgate/compression/window"
)

func TestParseRule(t *testing.T) {
	for _, tc := range []struct {
		text string
		want window.Rule
	}{
		{"32000", window.Rule{Total: 32000}},
		{"400000/272000", window.Rule{Total: 400000, Input: 272000}},
		{"gpt-*=128000/120000", window.Rule{Glob: "gpt-*", Total: 128000, Input: 120000}},
		{"256", window.Rule{Total: 256}},
		{" a=b = 1000 / 1000 ", window.Rule{Glob: "a=b", Total: 1000, Input: 1000}},
	} {
		t.Run(tc.text, func(t *testing.T) {
			got, err := window.ParseRule(tc.text)
			if err != nil || got != tc.want {
				t.Errorf("ParseRule = %+v, %v, want %+v", got, err, tc.want)
			}
		})
	}
}

func TestParseRuleRefuses(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"", "the total is missing"},
		{"gpt-4=", "the total is missing"},
		{"=4000", "nothing stands before the ="},
		{"gpt-4", `"gpt-4" is no whole number`},
		{"128k", `"128k" is no whole number`},
		{"0", "0 is not positive"},
		{"-5", "-5 is not positive"},
		{"255", "must be from 256"},
		{"99999999999999999999", "too large"},
		{"2000000000", "must be from 256"},
		{"4000/", "the input is missing"},
		{"4000/x", `the input "x" is no whole number`},
		{"4000/0", "the input 0 is not positive"},
		{"4000/100", "the input 100 must be at least 256"},
		{"4000/5000", "the input 5000 is more than the total 4000"},
		{"4000/1000/1000", "no whole number"},
	} {
		t.Run(tc.text, func(t *testing.T) {
			got, err := window.ParseRule(tc.text)
			if err == nil {
				t.Fatalf("ParseRule = %+v, want an error", got)
			}
			if !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %q does not say %q", err, tc.want)
			}
		})
	}
}

func FuzzParseRule(f *testing.F) {
	for _, s := range []string{"32000", "gpt-*=128000/120000", "=", "/", "a=b=1/2", "*=256/256", "\xff=999"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := window.ParseRule(s)
		if err != nil {
			return
		}
		b, err := window.NewBook(window.BookConfig{Rules: []window.Rule{r}})
		if err != nil {
			t.Fatalf("ParseRule(%q) = %+v, which NewBook refuses: %v", s, r, err)
		}
		b.Lookup(window.Scope{}, s, start)
	})
}

func TestNewBookReportsAllProblems(t *testing.T) {
	_, err := window.NewBook(window.BookConfig{
		Rules:   []window.Rule{{Glob: "a", Total: 1}, {Glob: "b", Total: 4000}, {Glob: "c", Total: 4000, Input: 5000}},
		Default: -1,
	})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{`"a"`, `"c"`, "default window"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q does not name %s", err, want)
		}
	}
	if strings.Contains(err.Error(), `"b"`) {
		t.Errorf("error %q names a rule without a problem", err)
	}
}

func TestLookupGlob(t *testing.T) {
	for _, tc := range []struct {
		name  string
		globs []string // the i-th has a total of 1000*(i+1)
		model string
		want  window.Tokens // 0: none
	}{
		{"every model", []string{""}, "anything", 1000},
		{"every model, unnamed", []string{""}, "", 1000},
		{"star", []string{"*"}, "a/b", 1000},
		{"exact", []string{"my-model"}, "my-model", 1000},
		{"not a prefix", []string{"my-model"}, "my-model-2", 0},
		{"not a suffix", []string{"my-model"}, "x-my-model", 0},
		{"case", []string{"My-*"}, "mY-MODEL", 1000},
		{"star in the middle", []string{"a*z"}, "a-to-z", 1000},
		{"star over a slash", []string{"*model"}, "org/model", 1000},
		{"star goes back", []string{"*ab*c"}, "aababbc", 1000},
		{"star may be empty", []string{"ab*"}, "ab", 1000},
		{"one character", []string{"m?"}, "mé", 1000},
		{"one character is one", []string{"m?"}, "m", 0},
		{"longest wins", []string{"*", "my-model", "my-*"}, "my-model", 2000},
		{"the later of equals wins", []string{"my-*", "*-ab"}, "my-ab", 2000},
		{"no provider is taken away", []string{"my-model"}, "org/my-model", 0},
		{"long name", []string{"*a"}, strings.Repeat("a", 1<<20), 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var rules []window.Rule
			for i, glob := range tc.globs {
				rules = append(rules, window.Rule{Glob: glob, Total: window.Tokens(1000 * (i + 1))})
			}
			got := book(t, window.BookConfig{Rules: rules}).Lookup(window.Scope{}, tc.model, start)
			if got.Total != tc.want {
				t.Errorf("Lookup = %+v, want a total of %d", got, tc.want)
			}
		})
	}
}
