package ownership

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	// pollEvery is how often a watched attempt is looked at without a hint.
	pollEvery = time.Second
	// maxJitter bounds how much later than the lease's end a watcher claims.
	maxJitter = 500 * time.Millisecond
)

// watcher waits for an attempt that another replica runs.
type watcher struct {
	r       *run
	owner   Owner // the attempt that is awaited
	jitter  time.Duration
	claimAt time.Time // by this process's clock: the lease is over, plus jitter
	known   []Fence   // whose handoffs need not be sent again
}

// watch waits until the attempt of o gave an answer, or until it is worth claiming
// (again). It holds no slot meanwhile and takes no generation. What the store says
// in LeaseLeft decides, never this process's time of day.
func (r *run) watch(ctx context.Context, o Owner) (res Result, again bool) {
	r.releaseSlot()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	hints := r.c.conf.Store.Watch(ctx, r.job.Conversation)
	w := &watcher{r: r, jitter: rand.N(min(maxJitter, r.c.conf.Lease/4) + 1)}
	w.follow(o)
	for {
		pause := time.NewTimer(min(pollEvery, max(0, time.Until(w.claimAt))))
		select {
		case _, open := <-hints:
			if !open {
				hints = nil // the store cannot hint any more; ctx is looked at below
			}
		case <-pause.C:
		case <-ctx.Done():
		}
		pause.Stop()
		if ctx.Err() != nil {
			return Result{Kind: ResultAbandoned, Fence: w.owner.Fence}, false
		}
		v, err := r.c.read(ctx, r.job.Conversation, w.known)
		if err != nil {
			if w.late() {
				return Result{}, true
			}
			continue
		}
		if res, state := w.look(v); state != waiting {
			return res, state == claiming
		}
	}
}

// progress of a watcher.
type watching int

const (
	waiting watching = iota
	answered
	claiming
)

// follow waits for o from now on.
func (w *watcher) follow(o Owner) {
	w.owner, w.r.watched = o, o
	w.claimAt = time.Now().Add(o.LeaseLeft + w.jitter)
	w.r.f.await(o.Fence, o.Target, !w.r.mine(o.Fence), o.TraceParent)
}

// late reports whether the lease, as last heard of, and the jitter are over.
func (w *watcher) late() bool { return !time.Now().Before(w.claimAt) }

// look judges what a read brought.
func (w *watcher) look(v View) (Result, watching) {
	w.known = w.known[:0]
	for _, c := range v.State.Checkpoints {
		if len(c.Handoff) > 0 && w.serves(c) {
			return w.r.found(c, v.Owner), answered
		}
		w.known = append(w.known, c.Fence)
	}
	o := v.Owner
	if o == nil {
		return Result{}, claiming // forgotten
	}
	if o.Fence != w.owner.Fence && o.Live {
		if !w.r.job.matches(o.Target) {
			return Result{Kind: ResultBusy}, answered
		}
		w.follow(*o)
		return Result{}, waiting
	}
	if o.Fence != w.owner.Fence && o.Target != w.owner.Target {
		return Result{}, claiming // ended, and nobody's whom we waited for
	}
	return w.end(v, *o)
}

// serves reports whether c is what the watched attempt was to make, or better.
func (w *watcher) serves(c Checkpoint) bool {
	return c.Fence == w.owner.Fence || c.Target == w.owner.Target || w.r.job.covers(c)
}

// end judges how the awaited attempt stands. Waiters of a cancelled one do not
// claim, those of a failed one share its cooldown.
func (w *watcher) end(v View, o Owner) (Result, watching) {
	res := Result{Fence: o.Fence, Joined: true}
	switch o.Phase {
	case Working:
		if o.Live {
			w.follow(o)
		} else if w.late() {
			return Result{}, claiming
		}
		return Result{}, waiting
	case Cancelled:
		res.Kind = ResultCancelled
		return res, answered
	case Ineffective:
		res.Kind = ResultIneffective
		return res, answered
	case Failed:
		if left := v.State.CooldownUntil.Sub(v.Now); left > 0 && left <= MaxCooldown {
			res.Kind, res.Left = ResultCooling, left
			return res, answered
		}
	}
	return Result{}, claiming
}
