package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"

	"github.com/google/uuid"

	"github.com/foldgate/foldgate/ownership"
)

// maxReason bounds the reason of a cancel, in bytes.
const maxReason = 255

// changeRequest is the body of a change. Generation and attempt name the owner
// that the operator saw; without them the owner is read first.
type changeRequest struct {
	Generation *ownership.Generation `json:"generation"`
	Attempt    *ownership.AttemptID  `json:"attempt"`
	Reason     string                `json:"reason"`
}

// cancel raises the flag of one attempt: the named one, or the owner.
func (p *plane) cancel(w http.ResponseWriter, r *http.Request) {
	p.change(w, r, "cancel", func(ctx context.Context, key ownership.Key, c changeRequest) (ownership.Fence, error) {
		fence, err := p.owner(ctx, key, c)
		if err != nil {
			return fence, err
		}
		if fence == (ownership.Fence{}) {
			return fence, ownership.ErrNotCurrent
		}
		if c.Reason == "" {
			c.Reason = "operator"
		}
		return fence, p.Store.Raise(ctx, key, fence, c.Reason)
	}, http.StatusAccepted)
}

// restore goes one checkpoint back. Each decision is an attempt of its own.
func (p *plane) restore(w http.ResponseWriter, r *http.Request) {
	p.change(w, r, "restore", func(ctx context.Context, key ownership.Key, c changeRequest) (ownership.Fence, error) {
		saw, err := p.owner(ctx, key, c)
		if err != nil {
			return saw, err
		}
		id, err := uuid.NewV7()
		if err != nil {
			return saw, err
		}
		by := ownership.AttemptID(id.String())
		if _, err = p.Store.RestoreOperator(ctx, key, saw, by); err != nil {
			return saw, err
		}
		p.Dropped(key)
		return p.generationOf(ctx, key, by), nil
	}, http.StatusOK)
}

func (p *plane) forget(w http.ResponseWriter, r *http.Request) {
	key, ok := keyOf(r)
	if !ok {
		refuse(w, problemKey)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), storeTimeout)
	defer cancel()
	generation, err := p.Store.Forget(ctx, key)
	p.audit(r, "forget", key, ownership.Fence{Generation: generation}, err)
	if err != nil {
		refuse(w, storeProblem(err))
		return
	}
	p.Dropped(key)
	w.WriteHeader(http.StatusNoContent)
}

// step is what a change does. The fence it returns is the one it is about.
type step func(ctx context.Context, key ownership.Key, c changeRequest) (ownership.Fence, error)

// change reads a change's request, does it, and tells the log and the caller.
func (p *plane) change(w http.ResponseWriter, r *http.Request, operation string, do step, status int) {
	key, ok := keyOf(r)
	if !ok {
		refuse(w, problemKey)
		return
	}
	request, bad := readChange(w, r)
	if bad != nil {
		refuse(w, *bad)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), storeTimeout)
	defer cancel()
	fence, err := do(ctx, key, request)
	p.audit(r, operation, key, fence, err)
	switch {
	case errors.Is(err, errUnknown):
		refuse(w, problemUnknown)
	case err != nil:
		refuse(w, storeProblem(err))
	default:
		answer(w, status, changeShape{Conversation: key, Generation: fence.Generation, Attempt: fence.Attempt})
	}
}

// errUnknown: nobody ever claimed the conversation.
var errUnknown = errors.New("no such conversation")

// owner is the fence that the request names, else the one that the store has.
// The zero Fence: there is no owner.
func (p *plane) owner(ctx context.Context, key ownership.Key, c changeRequest) (ownership.Fence, error) {
	if c.Generation != nil {
		return ownership.Fence{Generation: *c.Generation, Attempt: *c.Attempt}, nil
	}
	view, err := p.Store.Read(ctx, key, nil)
	switch {
	case err != nil:
		return ownership.Fence{}, err
	case unknown(view):
		return ownership.Fence{}, errUnknown
	case view.Owner == nil:
		return ownership.Fence{}, nil
	}
	return view.Owner.Fence, nil
}

// generationOf looks up the generation that a restore took, for the answer
// only. Where that fails, or somebody claimed since, it is 0.
func (p *plane) generationOf(ctx context.Context, key ownership.Key, by ownership.AttemptID) ownership.Fence {
	fence := ownership.Fence{Attempt: by}
	view, err := p.Store.Read(ctx, key, nil)
	if err == nil && view.Owner != nil && view.Owner.Fence.Attempt == by {
		fence = view.Owner.Fence
	}
	return fence
}

// readChange reads the body of a change. An empty body is an empty object.
func readChange(w http.ResponseWriter, r *http.Request) (c changeRequest, bad *problem) {
	invalid := func(p problem) (changeRequest, *problem) { return changeRequest{}, &p }
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, changeLimit))
	if err != nil {
		return invalid(bodyProblem(err))
	}
	if len(bytes.TrimSpace(raw)) == 0 {
		return c, nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil || d.More() {
		return invalid(problemBody.with(`the body must be an object of "generation" (a number), "attempt" and "reason" (texts)`, ""))
	}
	switch {
	case (c.Generation == nil) != (c.Attempt == nil):
		return invalid(problemBody.with("generation and attempt go together", "generation"))
	case c.Generation != nil && (ownership.Fence{Generation: *c.Generation, Attempt: *c.Attempt}).Check() != nil:
		return invalid(problemBody.with("generation is a number over 0 and attempt a UUID in lower case", "attempt"))
	case len(c.Reason) > maxReason:
		return invalid(problemBody.with("reason has at most 255 bytes", "reason"))
	}
	return c, nil
}

// audit writes the line of a change, made or refused.
func (p *plane) audit(r *http.Request, operation string, key ownership.Key, f ownership.Fence, err error) {
	level, result := slog.LevelInfo, "done"
	if err != nil {
		level, result = slog.LevelWarn, err.Error()
	}
	p.Logger.LogAttrs(r.Context(), level, "admin change",
		slog.String("operation", operation),
		slog.String("conversation", string(key)),
		slog.Uint64("generation", uint64(f.Generation)),
		slog.String("attempt", string(f.Attempt)),
		slog.String("remote", r.RemoteAddr),
		slog.String("result", result))
}
