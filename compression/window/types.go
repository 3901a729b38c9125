package window

import "time"

// Tokens is a number of model tokens.
type Tokens int

// Source says where a window comes from, as Foldgate-Tokens names it.
type Source string

// The sources, strongest first.
const (
	Config     Source = "config"
	Advertised Source = "advertised"
	Learned    Source = "learned"
	Table      Source = "table"
	Default    Source = "default"
	Unknown    Source = "unknown"
)

// Limits is what a model accepts. Zero means not known; Total zero means that
// the window is unknown.
type Limits struct {
	Total, Input, Output Tokens
	// Bytes is the longest request body that the upstream takes; zero: not known.
	// It says nothing about tokens, and Source says nothing about it.
	Bytes  int64
	Source Source
}

// Settings are the shares that turn limits into a budget. See the configuration
// reference for their defaults.
type Settings struct {
	Trigger       float64 // share of usable from which a fold is prepared
	KeepRecent    float64 // share of the window for the tail
	Recall        float64 // share of the window for recalled passages
	Handoff       float64 // share of usable for a model's summary; zero: 0.15
	Deterministic float64 // share of usable for a handoff without a model; zero: 0.30
	ReserveOutput Tokens  // when the request names no output limit
}

// Budget is what one request may use. Its tokens are corrected ones: what the
// upstream would count.
type Budget struct {
	Limits
	// Usable is the smaller of the input limit and total - output reserve, less
	// the safety margin (4 % of it, at least 64). Zero: the window is unknown.
	Usable Tokens
	// Trigger is the share of Usable from which a fold is prepared.
	Trigger Tokens
	// Handoff and Deterministic are the most that a handoff takes, by a model and
	// without one (zero: 15 % and 30 % of Usable); Recall the most that recalled passages take, zero: none.
	Handoff, Deterministic, Recall Tokens
	// Known is a part of the request that the upstream has counted. Zero: none.
	Known Known
	// Correction is what the upstream counts for one token of ours, 1 if unknown.
	Correction float64
	// Step is Correction rounded up to a step: 1, 1.15, 1.3, 1.5, 2, 3.
	Step float64
}

// Known is the beginning of a request whose size the upstream reported. The zero
// Known is none.
type Known struct {
	Counted  Tokens // our count of it, uncorrected
	Reported Tokens // the upstream's
}

// Observation is one request whose size the upstream reported.
type Observation struct {
	Counted  Tokens // our count of what was sent, uncorrected
	Reported Tokens // usage.prompt_tokens
	At       time.Time
}
