package admin

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/foldgate/foldgate/ownership"
)

const (
	defaultLimit = 50
	maxLimit     = 1000
	// storeTimeout bounds one question or change; the store's own limits are
	// shorter, this one holds where a store has none.
	storeTimeout = 10 * time.Second
)

// listAttempts answers from memory: those of the replica, or of one conversation.
func (p *plane) listAttempts(_ http.ResponseWriter, r *http.Request, _ *entry) (result, *problem) {
	limit, bad := limitOf(r, maxLimit)
	if bad != nil {
		return result{}, bad
	}
	only, there, ok := one(r, "conversation")
	if !ok || there && !ownership.Key(only).Valid() {
		wrong := problemKey.with(problemKey.message, "conversation")
		return result{}, &wrong
	}
	asked := limit
	if there {
		asked = maxLimit // all that are remembered
	}
	list := attemptList{Attempts: []attemptShape{}}
	for _, i := range p.Attempts.Attempts(asked) {
		if there && i.Conversation != ownership.Key(only) || len(list.Attempts) == limit {
			continue
		}
		list.Attempts = append(list.Attempts, showAttempt(i))
	}
	return result{http.StatusOK, list}, nil
}

// handoffRead names a request for the conversation's text. A query that cannot
// be read may mean to ask for it.
func handoffRead(r *http.Request) string {
	if show, bad := contentOf(r); bad != nil || show == withContent {
		return "handoff"
	}
	return ""
}

// contentOf says whether a request asks for the conversation's text.
func contentOf(r *http.Request) (content, *problem) {
	asked, bad := switchOf(r, "handoff")
	if asked {
		return withContent, bad
	}
	return withoutContent, bad
}

// showConversation answers 404 for a key that the store never heard of; one
// that was forgotten still has its counter and is shown.
func (p *plane) showConversation(_ http.ResponseWriter, r *http.Request, e *entry) (result, *problem) {
	if !e.key.Valid() {
		return result{}, &problemKey
	}
	show, bad := contentOf(r)
	if bad == nil && show == withContent {
		bad = p.guard.privileged(r)
	}
	if bad != nil {
		return result{}, bad
	}
	ctx, cancel := context.WithTimeout(r.Context(), storeTimeout)
	defer cancel()
	view, err := p.known(ctx, e.key)
	if err != nil {
		e.cause = err
		return result{}, storeProblem(err)
	}
	return result{http.StatusOK, showView(e.key, view, show)}, nil
}

// fold is the dry run: nothing is forwarded, claimed or kept.
func (p *plane) fold(w http.ResponseWriter, r *http.Request, _ *entry) (result, *problem) {
	window, _, ok := one(r, "window")
	if !ok {
		return result{}, &problemQuery
	}
	body, bad := readBody(w, r, p.BodyLimit)
	if bad != nil {
		return result{}, bad
	}
	report, err := p.Folder.Fold(r.Context(), body, window)
	var wrong *BadRequestError
	switch {
	case errors.As(err, &wrong):
		refused := problemFold.with(wrong.Error(), wrong.Param)
		return result{}, &refused
	case err != nil:
		p.Logger.Error("dry run", "error", err)
		return result{}, &problemInternal
	}
	return result{http.StatusOK, report}, nil
}

// unknown reports whether nobody ever claimed the conversation.
func unknown(v ownership.View) bool {
	return v.Generation == 0 && v.Owner == nil && len(v.State.Checkpoints) == 0
}

func keyOf(r *http.Request) (ownership.Key, bool) {
	key := ownership.Key(chi.URLParam(r, "key"))
	return key, key.Valid()
}
