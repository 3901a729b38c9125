package admin

import (
	"net/http"
	"time"
)

// About says which replica this is. It does not change while it serves by one
// configuration.
type About struct {
	Replica string // its name in owner records
	Version string
	Mode    string
	Started time.Time
}

// Totals are what the replica's metrics have counted since it started, and what
// they show now.
type Totals struct {
	Folds                       map[string]int64 // chat requests by kind
	Attempts                    map[string]int64 // attempts that ended, by outcome
	Refusals                    []RefusalTotal
	Retries, StoreErrors        int64
	Saved, Savable              int64 // tokens
	SummaryInput, SummaryOutput int64 // tokens
	InFlight, Running           int64 // requests, attempts: now
}

// RefusalTotal is how often the store gave one operation one refusal.
type RefusalTotal struct {
	Operation string `json:"operation"`
	Answer    string `json:"answer"`
	Count     int64  `json:"count"`
}

type replicaShape struct {
	Replica         string            `json:"replica"`
	Version         string            `json:"version"`
	Mode            string            `json:"mode"`
	Now             *time.Time        `json:"now"`
	Started         *time.Time        `json:"started"`
	Status          string            `json:"status"`
	Parts           map[string]string `json:"parts"`
	TokenConfigured bool              `json:"token_configured"`
	Totals          totalsShape       `json:"totals"`
	Refusals        []refusalShape    `json:"refusals"`
}

type totalsShape struct {
	Folds           map[string]int64 `json:"folds"`
	Attempts        map[string]int64 `json:"attempts"`
	Refusals        []RefusalTotal   `json:"refusals"`
	Retries         int64            `json:"retries"`
	StoreErrors     int64            `json:"store_errors"`
	TokensSaved     int64            `json:"tokens_saved"`
	TokensSavable   int64            `json:"tokens_savable"`
	SummaryInput    int64            `json:"summary_input_tokens"`
	SummaryOutput   int64            `json:"summary_output_tokens"`
	InFlight        int64            `json:"requests_in_flight"`
	AttemptsRunning int64            `json:"attempts_running"`
}

type refusalShape struct {
	At        *time.Time `json:"at"`
	Operation string     `json:"operation"`
	Answer    string     `json:"answer"`
}

type stepList struct {
	Seconds int         `json:"seconds"`
	Now     *time.Time  `json:"now"`
	Steps   []stepShape `json:"steps"`
}

type stepShape struct {
	At       *time.Time `json:"at"`
	Requests int        `json:"requests"`
	Before   int64      `json:"before"`
	After    int64      `json:"after"`
}

// showReplica answers how the replica is and what it counted. The store is not
// asked.
func (p *plane) showReplica(http.ResponseWriter, *http.Request, *entry) (result, *problem) {
	totals, err := p.Totals()
	if err != nil {
		p.Logger.Error("metrics cannot be read", "error", err)
		return result{}, &problemInternal
	}
	ready := p.readiness()
	return result{http.StatusOK, replicaShape{
		Replica: p.About.Replica, Version: p.About.Version, Mode: p.About.Mode,
		Now: moment(time.Now()), Started: moment(p.About.Started),
		Status: ready.Status, Parts: ready.Parts, TokenConfigured: !p.guard.open,
		Totals: showTotals(totals), Refusals: p.Record.lastRefusals(),
	}}, nil
}

// showTotals has no null: what was never counted is an empty list or object.
func showTotals(t Totals) totalsShape {
	s := totalsShape{
		Folds: map[string]int64{}, Attempts: map[string]int64{}, Refusals: []RefusalTotal{},
		Retries: t.Retries, StoreErrors: t.StoreErrors, TokensSaved: t.Saved, TokensSavable: t.Savable,
		SummaryInput: t.SummaryInput, SummaryOutput: t.SummaryOutput, InFlight: t.InFlight, AttemptsRunning: t.Running,
	}
	for kind, n := range t.Folds {
		s.Folds[kind] = n
	}
	for outcome, n := range t.Attempts {
		s.Attempts[outcome] = n
	}
	s.Refusals = append(s.Refusals, t.Refusals...)
	return s
}

// listTokens answers the tokens before and after over time.
func (p *plane) listTokens(_ http.ResponseWriter, r *http.Request, _ *entry) (result, *problem) {
	limit, bad := limitOf(r, maxLimit)
	if bad != nil {
		return result{}, bad
	}
	list := stepList{Seconds: int(StepLength / time.Second), Now: moment(time.Now()), Steps: p.Record.lately(limit)}
	return result{http.StatusOK, list}, nil
}
