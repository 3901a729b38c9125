package admin

import (
	"context"
	"errors"
	"net/http"

	"github.com/google/uuid"

	"github.com/foldgate/foldgate/ownership"
)

// What a change may find beside what the store says.
var (
	// errUnknown: nobody ever claimed the conversation.
	errUnknown = errors.New("no such conversation")
	// errNothing: there is no checkpoint that a restore could take back.
	errNothing = errors.New("nothing to restore")
)

// cancel raises the flag of one attempt: the named one, or the owner.
func (p *plane) cancel(w http.ResponseWriter, r *http.Request, e *entry) (result, *problem) {
	return p.change(w, r, e, http.StatusAccepted, func(ctx context.Context, c changeRequest) (ownership.Fence, error) {
		fence, named := c.fence()
		if !named {
			view, err := p.known(ctx, e.key)
			if err != nil {
				return fence, err
			}
			if fence = ownerOf(view); fence == (ownership.Fence{}) {
				return fence, ownership.ErrNotCurrent
			}
		}
		if c.Reason == "" {
			c.Reason = "operator"
		}
		return fence, p.Store.Raise(ctx, e.key, fence, c.Reason)
	})
}

// restore goes one checkpoint back. Each decision is an attempt of its own.
// Where there is no checkpoint it takes no generation: nobody is superseded for
// nothing.
func (p *plane) restore(w http.ResponseWriter, r *http.Request, e *entry) (result, *problem) {
	return p.change(w, r, e, http.StatusOK, func(ctx context.Context, c changeRequest) (ownership.Fence, error) {
		view, err := p.known(ctx, e.key)
		if err != nil {
			return ownership.Fence{}, err
		}
		saw, named := c.fence()
		if !named {
			saw = ownerOf(view)
		}
		if len(view.State.Checkpoints) == 0 {
			return saw, errNothing
		}
		id, err := uuid.NewV7()
		if err != nil {
			return saw, err
		}
		by := ownership.AttemptID(id.String())
		_, err = p.Store.RestoreOperator(ctx, e.key, saw, by)
		p.dropped(e.key, err)
		if err != nil {
			return saw, err
		}
		return p.generationOf(ctx, e.key, by), nil
	})
}

// forget deletes a conversation but for its counter. It reads no body.
func (p *plane) forget(_ http.ResponseWriter, r *http.Request, e *entry) (result, *problem) {
	if !e.key.Valid() {
		return result{}, &problemKey
	}
	ctx, cancel := changing(r)
	defer cancel()
	generation, err := p.Store.Forget(ctx, e.key)
	p.dropped(e.key, err)
	e.fence.Generation, e.cause = generation, err
	if err != nil {
		return result{}, storeProblem(err)
	}
	return result{status: http.StatusNoContent}, nil
}

// change reads a change's request and does it. do returns the fence that the
// change is about.
func (p *plane) change(
	w http.ResponseWriter, r *http.Request, e *entry, status int,
	do func(ctx context.Context, c changeRequest) (ownership.Fence, error),
) (result, *problem) {
	if !e.key.Valid() {
		return result{}, &problemKey
	}
	request, bad := readChange(w, r)
	if bad != nil {
		return result{}, bad
	}
	ctx, cancel := changing(r)
	defer cancel()
	e.fence, e.cause = do(ctx, request)
	if e.cause != nil {
		return result{}, storeProblem(e.cause)
	}
	return result{status, changeShape{Conversation: e.key, Generation: e.fence.Generation, Attempt: e.fence.Attempt}}, nil
}

// changing is the context of a change. It goes on when the caller hangs up, so
// that the audit line knows how it ended.
func changing(r *http.Request) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(r.Context()), storeTimeout)
}

// known reads a conversation that somebody claimed once.
func (p *plane) known(ctx context.Context, key ownership.Key) (ownership.View, error) {
	view, err := p.Store.Read(ctx, key, nil)
	if err == nil && unknown(view) {
		err = errUnknown
	}
	return view, err
}

// ownerOf is the zero Fence where there is no owner.
func ownerOf(v ownership.View) ownership.Fence {
	if v.Owner == nil {
		return ownership.Fence{}
	}
	return v.Owner.Fence
}

// dropped tells the replica of a conversation that has changed, or may have.
func (p *plane) dropped(key ownership.Key, err error) {
	if err == nil || storeProblem(err).code == problemNoAnswer.code {
		p.Dropped(key)
	}
}

// generationOf looks up the generation that a restore took, for the answer
// only. Where that fails, or somebody claimed since, it is 0.
func (p *plane) generationOf(ctx context.Context, key ownership.Key, by ownership.AttemptID) ownership.Fence {
	fence := ownership.Fence{Attempt: by}
	view, err := p.Store.Read(ctx, key, nil)
	if err == nil && ownerOf(view).Attempt == by {
		fence = view.Owner.Fence
	}
	return fence
}
