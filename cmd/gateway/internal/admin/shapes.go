package admin

import (
	"time"

	"github.com/foldgate/foldgate/ownership"
)

// The shapes below are the contract of section 6.4 and of openapi.yaml.

type readiness struct {
	Status string            `json:"status"`
	Parts  map[string]string `json:"parts"`
}

type touchedList struct {
	Conversations []touchedShape `json:"conversations"`
}

type touchedShape struct {
	Conversation ownership.Key `json:"conversation"`
	LastSeen     *time.Time    `json:"last_seen"`
	Kind         string        `json:"kind"`
	Before       int           `json:"before"`
	After        int           `json:"after"`
	Covered      int           `json:"covered"`
	// State is left out unless it was asked for, and null where the store could not
	// be asked.
	State any `json:"state,omitempty"`
}

type conversationShape struct {
	Conversation  ownership.Key        `json:"conversation"`
	Generation    ownership.Generation `json:"generation"`
	Owner         *ownerShape          `json:"owner"`
	Cancel        *cancelShape         `json:"cancel"`
	Checkpoints   []checkpointShape    `json:"checkpoints"`
	CooldownUntil *time.Time           `json:"cooldown_until"`
	BlockedUntil  *time.Time           `json:"blocked_until"`
	Strikes       int                  `json:"strikes"`
	LastError     *string              `json:"last_error"`
}

type ownerShape struct {
	Generation ownership.Generation `json:"generation"`
	Attempt    ownership.AttemptID  `json:"attempt"`
	Phase      ownership.Phase      `json:"phase"`
	Live       bool                 `json:"live"`
	Replica    string               `json:"replica"`
	Route      string               `json:"route"`
	Covered    int                  `json:"covered"`
	Digest     string               `json:"digest"`
	Claimed    *time.Time           `json:"claimed"`
	Progress   *time.Time           `json:"progress"`
	LeaseEnd   *time.Time           `json:"lease_end"`
	Ceiling    *time.Time           `json:"ceiling"`
	Deaths     int                  `json:"deaths"`
}

type cancelShape struct {
	Generation ownership.Generation `json:"generation"`
	Attempt    ownership.AttemptID  `json:"attempt"`
	Reason     string               `json:"reason"`
	Raised     *time.Time           `json:"raised"`
}

type checkpointShape struct {
	Covered    int                  `json:"covered"`
	Digest     string               `json:"digest"`
	Tokens     int                  `json:"tokens"`
	Created    *time.Time           `json:"created"`
	Generation ownership.Generation `json:"generation"`
	Attempt    ownership.AttemptID  `json:"attempt"`
	Settled    bool                 `json:"settled"`
	Route      string               `json:"route"`
	Handoff    *string              `json:"handoff,omitempty"`
}

type attemptList struct {
	Attempts []attemptShape `json:"attempts"`
}

type attemptShape struct {
	ID           ownership.AttemptID  `json:"id"`
	Conversation ownership.Key        `json:"conversation"`
	Generation   ownership.Generation `json:"generation"`
	Phase        ownership.Phase      `json:"phase"`
	Outcome      *string              `json:"outcome"`
	Route        string               `json:"route"`
	Covered      int                  `json:"covered"`
	Started      *time.Time           `json:"started"`
	Ended        *time.Time           `json:"ended"`
	Reason       string               `json:"reason"`
}

// changeShape answers a change.
type changeShape struct {
	Conversation ownership.Key        `json:"conversation"`
	Generation   ownership.Generation `json:"generation"`
	Attempt      ownership.AttemptID  `json:"attempt"`
}

// content says whether a conversation's text is shown.
type content int

const (
	withoutContent content = iota
	withContent
)

func showView(key ownership.Key, v ownership.View, show content) conversationShape {
	c := conversationShape{
		Conversation:  key,
		Generation:    v.Generation,
		Checkpoints:   make([]checkpointShape, 0, len(v.State.Checkpoints)),
		CooldownUntil: moment(v.State.CooldownUntil),
		BlockedUntil:  moment(v.State.BlockedUntil),
		Strikes:       v.State.Strikes,
		LastError:     word(v.State.LastError),
	}
	if v.Owner != nil {
		c.Owner = showOwner(*v.Owner)
	}
	if f := v.Cancel; f != nil {
		c.Cancel = &cancelShape{Generation: f.Fence.Generation, Attempt: f.Fence.Attempt, Reason: f.Reason, Raised: moment(f.At)}
	}
	for _, k := range v.State.Checkpoints {
		c.Checkpoints = append(c.Checkpoints, showCheckpoint(k, show))
	}
	return c
}

func showOwner(o ownership.Owner) *ownerShape {
	return &ownerShape{
		Generation: o.Fence.Generation, Attempt: o.Fence.Attempt, Phase: o.Phase, Live: o.Live,
		Replica: o.Replica, Route: o.Route, Covered: o.Target.Covered, Digest: o.Target.Digest.String(),
		Claimed: moment(o.Claimed), Progress: moment(o.Progress), LeaseEnd: moment(o.LeaseEnd), Ceiling: moment(o.Ceiling),
		Deaths: o.Deaths,
	}
}

func showCheckpoint(k ownership.Checkpoint, show content) checkpointShape {
	s := checkpointShape{
		Covered: k.Covered, Digest: k.Digest.String(), Tokens: k.Tokens, Created: moment(k.Created),
		Generation: k.Fence.Generation, Attempt: k.Fence.Attempt, Settled: k.Settled, Route: k.Route,
	}
	if show == withContent {
		text := string(k.Handoff)
		s.Handoff = &text
	}
	return s
}

func showAttempt(i ownership.Info) attemptShape {
	return attemptShape{
		ID: i.Fence.Attempt, Conversation: i.Conversation, Generation: i.Fence.Generation, Phase: i.Phase,
		Outcome: word(ownership.OutcomeOf(i.Outcome, i.Unfenced)), Route: i.Route, Covered: i.Covered,
		Started: moment(i.Started), Ended: moment(i.Ended), Reason: i.Reason,
	}
}

// moment is nil for no time, which is null in JSON.
func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

func word(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
