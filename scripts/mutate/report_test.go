package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFailedTest(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, output, want, pattern string }{
		{"none", "PASS\n", "", "^$"},
		{"alone", "--- FAIL: TestA (0.00s)\n    a_test.go:1: x\nFAIL\n", "TestA", "^TestA$"},
		{"the innermost", "--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/b (0.00s)\n        --- FAIL: TestA/b/c_(d) (0.00s)\n", "TestA/b/c_(d)", `^TestA$/^b$/^c_\(d\)$`},
		{"the first", "--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/b (0.00s)\n    --- FAIL: TestA/c (0.00s)\n--- FAIL: TestD (0.00s)\n", "TestA/b", "^TestA$/^b$"},
		{"a longer name is another test", "--- FAIL: TestA (0.00s)\n--- FAIL: TestAB (0.00s)\n", "TestA", "^TestA$"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := failedTest(tt.output)
			if got != tt.want || exactly(got) != tt.pattern {
				t.Errorf("got %q and %q, want %q and %q", got, exactly(got), tt.want, tt.pattern)
			}
		})
	}
}

func TestErrorsOfScripts(t *testing.T) {
	t.Parallel()
	const compile = "Error compiling script (new function): "
	tests := []struct {
		output               string
		uncompiled, crashing bool
	}{
		{"want it claimed", false, false},
		{compile + "user_script:3: unexpected symbol near 'then'", true, true},
		{compile + "<string> line:1(column:2) near '42':   syntax error", true, false},
		{compile + "<string>:12: attempt to index a nil value", false, true},
		{"ERR user_script:12: attempt to index a nil value script: 8c3b", false, true},
	}
	for _, tt := range tests {
		if uncompiled.MatchString(tt.output) != tt.uncompiled || stopped.MatchString(tt.output) != tt.crashing {
			t.Errorf("%q: uncompiled is not %t, or crashing not %t", tt.output, tt.uncompiled, tt.crashing)
		}
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	excuses, err := parseExcuses("# a comment\n\na.lua | x or y | without y | y is x | always\na.lua | x | true | wrong\na.lua | gone | true | wrong\nb.lua | x | true | not judged\n")
	if err != nil {
		t.Fatal(err)
	}
	r := &report{results: []result{
		{mutant: mutant{File: "a.lua", Line: 1, Condition: "x", Mutation: "true"}, Verdict: killed, By: "TestX"},
		{mutant: mutant{File: "a.lua", Line: 2, Condition: "x or y", Mutation: "without y"}, Verdict: survived},
	}}
	if !r.Failed() {
		t.Error("a survivor is no failure")
	}
	r.excuse(excuses[:1], "a.lua")
	if got := r.results[1]; got.Verdict != equivalent || got.Reason != "y is x | always" || r.Failed() {
		t.Errorf("excused: %+v, wrong %q", got, r.wrong)
	}
	r.excuse(excuses[1:], "a.lua")
	if len(r.wrong) != 2 || !strings.Contains(r.wrong[0], "TestX") || !strings.Contains(r.wrong[1], "gone") || !r.Failed() {
		t.Errorf("wrong entries: %q", r.wrong)
	}
	var text, object strings.Builder
	if err := r.Text(&text); err != nil {
		t.Fatal(err)
	}
	if err := r.JSON(&object); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"a.lua:1", "TestX", "1 equivalent", "gone"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
	if !strings.Contains(r.Markdown(), "| a.lua | 2 | `x or y` | `without y` | equivalent | y is x") || !json.Valid([]byte(object.String())) {
		t.Errorf("reports:\n%s\n%s", r.Markdown(), object.String())
	}
}

func TestExcusesHaveReasons(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"a.lua | x | true", "a.lua | x | true | ", "a.lua"} {
		if _, err := parseExcuses(text); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}

// The checkout's own files are such that the check can run, and the list of
// equivalent mutants names mutants that exist.
func TestThisModule(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "redisstore")
	text, err := os.ReadFile(filepath.Join(root, "scripts.go"))
	if err != nil {
		t.Fatal(err)
	}
	if changed, err := fromFolder(string(text)); err != nil || strings.Contains(changed, "embed.FS") {
		t.Errorf("scripts are still embedded, %v", err)
	}
	scripts, err := readScripts(filepath.Join(root, "scripts"))
	if err != nil {
		t.Fatal(err)
	}
	mutants, err := allMutants(scripts, "")
	if err != nil {
		t.Fatal(err)
	}
	excuses, err := parseExcuses(equivalents)
	if err != nil {
		t.Fatal(err)
	}
	r := &report{}
	for _, m := range mutants {
		r.results = append(r.results, result{mutant: m, Verdict: survived})
	}
	if r.excuse(excuses, ""); len(r.wrong) > 0 {
		t.Errorf("equivalent.txt: %q", r.wrong)
	}
	if _, err := allMutants(scripts, "nothing.lua"); err == nil {
		t.Error("a file that does not exist was taken")
	}
}
