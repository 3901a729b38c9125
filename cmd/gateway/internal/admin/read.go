package admin

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
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

func (p *plane) listConversations(w http.ResponseWriter, r *http.Request) {
	limit, ok := limitOf(r)
	if !ok {
		refuse(w, problemLimit)
		return
	}
	list := touchedList{Conversations: []touchedShape{}}
	for _, t := range p.Conversations.Recent(limit) {
		list.Conversations = append(list.Conversations, touchedShape{
			Conversation: t.Conversation, LastSeen: moment(t.LastSeen), Kind: t.Kind, Before: t.Before, After: t.After, Covered: t.Covered,
		})
	}
	answer(w, http.StatusOK, list)
}

func (p *plane) listAttempts(w http.ResponseWriter, r *http.Request) {
	limit, ok := limitOf(r)
	if !ok {
		refuse(w, problemLimit)
		return
	}
	list := attemptList{Attempts: []attemptShape{}}
	for _, i := range p.Attempts.Attempts(limit) {
		list.Attempts = append(list.Attempts, showAttempt(i))
	}
	answer(w, http.StatusOK, list)
}

// showConversation answers 404 for a key that the store never heard of; one
// that was forgotten still has its counter and is shown.
func (p *plane) showConversation(w http.ResponseWriter, r *http.Request) {
	key, ok := keyOf(r)
	if !ok {
		refuse(w, problemKey)
		return
	}
	show := withoutContent
	if r.URL.Query().Get("handoff") == "1" {
		if p.guard.open {
			refuse(w, problemNoToken)
			return
		}
		show = withContent
	}
	ctx, cancel := context.WithTimeout(r.Context(), storeTimeout)
	defer cancel()
	view, err := p.Store.Read(ctx, key, nil)
	if err != nil {
		refuse(w, storeProblem(err))
		return
	}
	if unknown(view) {
		refuse(w, problemUnknown)
		return
	}
	answer(w, http.StatusOK, showView(key, view, show))
}

// fold is the dry run: nothing is forwarded, claimed or kept.
func (p *plane) fold(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, p.BodyLimit))
	if err != nil {
		refuse(w, bodyProblem(err))
		return
	}
	report, err := p.Folder.Fold(r.Context(), body, r.URL.Query().Get("window"))
	var bad *BadRequestError
	switch {
	case errors.As(err, &bad):
		refuse(w, problemFold.with(bad.Error(), bad.Param))
	case err != nil:
		p.Logger.Error("dry run", "error", err)
		refuse(w, problemInternal)
	default:
		answer(w, http.StatusOK, report)
	}
}

// unknown reports whether nobody ever claimed the conversation.
func unknown(v ownership.View) bool {
	return v.Generation == 0 && v.Owner == nil && len(v.State.Checkpoints) == 0
}

func keyOf(r *http.Request) (ownership.Key, bool) {
	key := ownership.Key(chi.URLParam(r, "key"))
	return key, key.Valid()
}

func limitOf(r *http.Request) (int, bool) {
	text := r.URL.Query().Get("limit")
	if text == "" {
		return defaultLimit, true
	}
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= 1 && n <= maxLimit
}

func bodyProblem(err error) problem {
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return problemTooLarge
	}
	return problemBody
}
