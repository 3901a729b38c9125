package admin

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/foldgate/foldgate/ownership"
)

const (
	// maxStates bounds how many conversations one list asks the store for.
	maxStates = 100
	// statesAtOnce bounds how many questions are open at a time.
	statesAtOnce = 8
	// statesTimeout bounds all of them together: a list is shown without rather
	// than late.
	statesTimeout = 3 * time.Second
)

// stateShape is what the store has of a conversation, in short.
type stateShape struct {
	Generation    ownership.Generation `json:"generation"`
	Phase         *ownership.Phase     `json:"phase"`
	Live          bool                 `json:"live"`
	CancelRaised  bool                 `json:"cancel_raised"`
	Checkpoints   int                  `json:"checkpoints"`
	CooldownUntil *time.Time           `json:"cooldown_until"`
	BlockedUntil  *time.Time           `json:"blocked_until"`
	Strikes       int                  `json:"strikes"`
	LastError     *string              `json:"last_error"`
}

func showState(v ownership.View) *stateShape {
	s := &stateShape{
		Generation: v.Generation, CancelRaised: v.Cancel != nil, Checkpoints: len(v.State.Checkpoints),
		CooldownUntil: moment(v.State.CooldownUntil), BlockedUntil: moment(v.State.BlockedUntil),
		Strikes: v.State.Strikes, LastError: word(v.State.LastError),
	}
	if v.Owner != nil {
		s.Phase, s.Live = &v.Owner.Phase, v.Owner.Live
	}
	return s
}

// listConversations answers from memory. With state=1 the store is asked for each
// of those that are listed, by its key.
func (p *plane) listConversations(_ http.ResponseWriter, r *http.Request, _ *entry) (result, *problem) {
	limit, bad := limitOf(r, maxLimit)
	if bad != nil {
		return result{}, bad
	}
	asked, bad := switchOf(r, "state")
	if asked && limit > maxStates {
		_, bad = limitOf(r, maxStates)
	}
	if bad != nil {
		return result{}, bad
	}
	list := touchedList{Conversations: []touchedShape{}}
	for _, t := range p.Conversations.Recent(limit) {
		list.Conversations = append(list.Conversations, touchedShape{
			Conversation: t.Conversation, LastSeen: moment(t.LastSeen), Kind: t.Kind, Before: t.Before, After: t.After, Covered: t.Covered,
		})
	}
	if asked {
		p.addStates(r.Context(), list.Conversations)
	}
	return result{http.StatusOK, list}, nil
}

// addStates asks the store for each conversation. After the first failure nobody
// is asked any more: a store that is down is not asked a hundred times.
func (p *plane) addStates(ctx context.Context, list []touchedShape) {
	ctx, stop := context.WithTimeout(ctx, statesTimeout)
	defer stop()
	turns := make(chan int)
	var asking sync.WaitGroup
	for range min(statesAtOnce, len(list)) {
		asking.Go(func() {
			for i := range turns {
				state, err := p.stateOf(ctx, list[i].Conversation)
				if err != nil {
					stop()
				}
				list[i].State = state
			}
		})
	}
	for i := range list {
		turns <- i
	}
	close(turns)
	asking.Wait()
}

// stateOf is nil where the store could not be asked.
func (p *plane) stateOf(ctx context.Context, key ownership.Key) (*stateShape, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	view, err := p.Store.Read(ctx, key, p.seen.of(key))
	if err != nil {
		return nil, err
	}
	p.seen.note(key, view.State.Checkpoints)
	return showState(view), nil
}

// seenFences remembers which checkpoints conversations had, so that a list which
// is asked for again and again does not carry their handoffs over the wire each
// time. What it remembers wrongly costs bytes and nothing else.
type seenFences struct {
	mu    sync.Mutex
	known map[ownership.Key][]ownership.Fence
}

func (s *seenFences) of(key ownership.Key) []ownership.Fence {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known[key]
}

func (s *seenFences) note(key ownership.Key, checkpoints []ownership.Checkpoint) {
	fences := make([]ownership.Fence, 0, len(checkpoints))
	for _, c := range checkpoints {
		fences = append(fences, c.Fence)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil || len(s.known) >= 4*maxStates {
		s.known = make(map[ownership.Key][]ownership.Fence, maxStates)
	}
	s.known[key] = fences
}
