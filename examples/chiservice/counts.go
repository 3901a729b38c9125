package main

import (
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/foldgate/foldgate/middleware"
	"github.com/foldgate/foldgate/ownership"
)

// counts is an observer: it counts what a service of one's own would hand to its
// metrics. Its methods do not block. Safe for concurrent use.
type counts struct {
	mu       sync.Mutex
	Folds    map[string]int `json:"folds"`    // by kind
	Attempts map[string]int `json:"attempts"` // by outcome
	Saved    int            `json:"saved"`    // tokens
}

var (
	_ middleware.Observer = (*counts)(nil)
	_ ownership.Observer  = (*counts)(nil)
)

// ChatDone is called once for each chat request.
func (c *counts) ChatDone(r middleware.Report) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.Folds == nil {
		c.Folds = make(map[string]int)
	}
	c.Folds[r.Kind]++
	if r.Kind != "none" && r.After < r.Before {
		c.Saved += int(r.Before - r.After)
	}
}

// AttemptEnded is called once for each attempt of this replica.
func (c *counts) AttemptEnded(_ ownership.Attempt, p ownership.Phase, _ bool, _ time.Duration, _ error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.Attempts == nil {
		c.Attempts = make(map[string]int)
	}
	c.Attempts[string(p)]++
}

// The rest is not counted here.

// AttemptStarted is ownership.Observer's.
func (c *counts) AttemptStarted(ownership.Attempt) {}

// SummaryDone is middleware.Observer's.
func (c *counts) SummaryDone(middleware.SummaryReport) {}

// StoreError is both observers'.
func (c *counts) StoreError(string, error) {}

// Refused is both observers'.
func (c *counts) Refused(string, error) {}

func (c *counts) show(w http.ResponseWriter, _ *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(c) // the caller may be gone
}
