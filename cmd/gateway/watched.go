package main

import (
	"github.com/foldgate/foldgate/cmd/gateway/internal/admin"
	"github.com/foldgate/foldgate/cmd/gateway/internal/telemetry"
	"github.com/foldgate/foldgate/middleware"
)

// watched is the telemetry, and beside it what the admin plane's page shows over
// time and no metric can tell.
type watched struct {
	*telemetry.Telemetry

	record *admin.Record
}

// ChatDone is middleware.Observer's.
func (w watched) ChatDone(r middleware.Report) {
	w.Telemetry.ChatDone(r)
	if r.Before > 0 {
		w.record.Counted(int(r.Before), int(r.After))
	}
}

// Refused is the observers' of middleware and ownership.
func (w watched) Refused(operation string, err error) {
	w.Telemetry.Refused(operation, err)
	w.record.Refused(operation, telemetry.AnswerOf(err))
}

// totals are the metrics as the admin plane shows them.
func (w watched) totals() (admin.Totals, error) {
	t, err := w.Totals()
	if err != nil {
		return admin.Totals{}, err
	}
	all := admin.Totals{
		Folds: t.Folds, Attempts: t.Attempts, Retries: t.Retries, StoreErrors: t.StoreErrors, Saved: t.Saved, Savable: t.Savable,
		SummaryInput: t.SummaryInput, SummaryOutput: t.SummaryOutput, InFlight: t.InFlight, Running: t.Running,
	}
	for _, r := range t.Refusals {
		all.Refusals = append(all.Refusals, admin.RefusalTotal(r))
	}
	return all, nil
}
