package telemetry_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/foldgate/foldgate/cmd/gateway/internal/telemetry"
	"github.com/foldgate/foldgate/middleware"
	"github.com/foldgate/foldgate/ownership"
)

// The totals are what was counted, by the labels of /metrics.
func TestTotals(t *testing.T) {
	t.Parallel()
	tel, err := telemetry.New(t.Context(), telemetry.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tel.Shutdown(t.Context()) })
	none, err := tel.Totals()
	if err != nil || len(none.Folds)+len(none.Attempts)+len(none.Refusals) > 0 || none.Saved+none.Running > 0 {
		t.Fatalf("before anything: %+v, %v", none, err)
	}
	tel.ChatDone(middleware.Report{Kind: "reused", Before: 100, After: 30, Window: 200})
	tel.ChatDone(middleware.Report{Kind: "fallback", Reason: "timeout", Before: 10, After: 5, Window: 200, Retried: true})
	tel.ChatDone(middleware.Report{Kind: "fallback", Reason: "routes"})
	tel.ChatDone(middleware.Report{Kind: "none", Reason: "mode", Before: 9, After: 2})
	tel.SummaryDone(middleware.SummaryReport{Input: 40, Output: 4})
	tel.AttemptStarted(ownership.Attempt{})
	tel.AttemptStarted(ownership.Attempt{})
	tel.AttemptEnded(ownership.Attempt{}, ownership.Committed, false, time.Second, nil)
	tel.Refused("commit", fmt.Errorf("x: %w", ownership.ErrSuperseded))
	tel.Refused("commit", ownership.ErrSuperseded)
	tel.Refused("clear", &ownership.EndedError{})
	tel.StoreError("claim", ownership.ErrUnavailable)
	got, err := tel.Totals()
	if err != nil {
		t.Fatal(err)
	}
	for what, is := range map[string]bool{
		"folds":    got.Folds["reused"] == 1 && got.Folds["fallback"] == 2 && got.Folds["none"] == 1,
		"attempts": got.Attempts["committed"] == 1 && got.Running == 1,
		"refusals": fmt.Sprint(got.Refusals) == "[{clear ended 1} {commit superseded 2}]",
		"tokens":   got.Saved == 75 && got.Savable == 7 && got.SummaryInput == 40 && got.SummaryOutput == 4,
		"calls":    got.Retries == 1 && got.StoreErrors == 1 && got.InFlight == 0,
	} {
		if !is {
			t.Errorf("%s are wrong in %+v", what, got)
		}
	}
}
