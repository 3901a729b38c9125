package window

import "time"

// AcceptedAbove takes in that the upstream accepted a request of so many tokens,
// as the upstream counts. If that is more than a learned limit, the limit is
// forgotten; if it is more than the table or an advertisement says, that does not
// count for this scope and model for LearnedFor. Anything else changes nothing,
// so it may be called for every accepted request.
func (b *Book) AcceptedAbove(s Scope, model string, tokens Tokens, now time.Time) {
	if len(model) > MaxName {
		return
	}
	now = instant(now)
	b.mu.RLock()
	have, ad := b.recall(s, model)
	news := b.disproves(have, ad, model, tokens, now)
	b.mu.RUnlock()
	if !news {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.remember(s, model).accept(tokens, now)
}

// acceptAgain is how old an acceptance is when it is noted anew.
const acceptAgain = LearnedFor / 6

// disproves reports whether an accepted request contradicts what is known, and
// nothing noted lately says so already. It needs the lock.
func (b *Book) disproves(have *lesson, ad advert, model string, tokens Tokens, now time.Time) bool {
	if have != nil {
		if l, ok := have.limits(now); ok && tokens > l.input() {
			return true
		}
		if have.most(now) >= tokens && now.Sub(have.accepted.at) < acceptAgain {
			return false
		}
	}
	if now.Before(ad.until) && tokens > ad.input() {
		return true
	}
	l, ok := b.table.lookup(model)
	return ok && tokens > l.input()
}

// AcceptedBytes takes in that the upstream accepted a body of so many bytes. If
// that is more than a learned limit of bytes, the limit is forgotten.
func (b *Book) AcceptedBytes(s Scope, model string, bytes int64, now time.Time) {
	now = instant(now)
	if limit := b.Lookup(s, model, now).Bytes; limit == 0 || bytes <= limit {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if have, _ := b.recall(s, model); have != nil {
		have.limitBytes(0, now)
	}
}

// CheckDue reports whether the limit of a model that refuses a request is to be
// checked by letting the request go on: at most once in CheckEvery for each scope
// and model, and never for a limit that is configured, or no limit at all. When
// it answers true the check is the caller's; the others are answered false.
func (b *Book) CheckDue(s Scope, model string, now time.Time) bool {
	if len(model) > MaxName {
		return false
	}
	switch b.Lookup(s, model, now).Source {
	case Learned, Advertised, Table:
	default:
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	kept := b.remember(s, model)
	// A clock that was set back must not stop the checks.
	if since := now.Sub(kept.checked); !kept.checked.IsZero() && since >= 0 && since < CheckEvery {
		return false
	}
	kept.checked = now
	return true
}
