package main

import (
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
)

// What arrives while small requests are measured is judged all the same, once that is
// over.
func TestWhatIsKeptIsJudgedLater(t *testing.T) {
	t.Parallel()
	led, at := newBook()
	b := &backend{window: window, ledger: at, later: true}
	conv := &conversation{tenant: 1, id: 7}
	body := conv.body(smallTurns, true)
	for _, credential := range []string{conv.credential(), "Bearer tenant-2"} {
		r := httptest.NewRequestWithContext(t.Context(), "POST", "/v1/chat/completions", strings.NewReader(string(body)))
		r.Header.Set(headMark, conv.mark())
		r.Header.Set(headTurns, strconv.Itoa(smallTurns))
		r.Header.Set("Authorization", credential)
		b.ServeHTTP(httptest.NewRecorder(), r)
	}
	if got := led.failures(); len(got) > 0 {
		t.Errorf("judged while something is measured: %v", got)
	}
	b.judgeKept()
	if got := led.failures(); len(got) != 1 || !strings.Contains(got[0], "another tenant's credential") {
		t.Errorf("judged afterwards: %v, want the one with another tenant's credential", got)
	}
	b.judgeKept()
	if got := led.failures(); len(got) != 1 {
		t.Errorf("judged twice: %v", got)
	}
}

// Each row asks for what its name says, and the table has a line for each.
func TestRowsOfTheLoad(t *testing.T) {
	t.Parallel()
	rows := loadRows()
	res := loadResult{ledger: newLedger("rows")}
	for _, r := range rows {
		if r.bypass != strings.Contains(r.name, "uncounted") || r.large != strings.Contains(r.name, "oversized") {
			t.Errorf("row %q: large %t, bypass %t", r.name, r.large, r.bypass)
		}
		res.rows = append(res.rows, loadMeasured{row: r})
	}
	for _, r := range rows {
		if text := res.text(); strings.Count(text, "\n| "+r.name+" |") != 1 {
			t.Errorf("the table has not one line of %q:\n%s", r.name, text)
		}
	}
}
