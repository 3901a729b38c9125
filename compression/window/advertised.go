package window

import (
	"maps"
	"slices"
	"time"
)

// AdvertisedFor is the longest that an advertisement holds without being made
// again.
const AdvertisedFor = 6 * time.Hour

// advert is what an upstream announced about one model, in the numbers that it
// named. It stays, expired, as what a new one is compared with. The zero advert is
// none.
type advert struct {
	Limits
	until time.Time
}

// Advertise keeps what an upstream announced about its models until the given
// time, at most AdvertisedFor from now. What is not plausible is left out, and
// beyond MaxModels models the least recently used go. A model that is announced
// with other limits than before is served differently now: what was learned and
// accepted of its tokens before is forgotten. The correction stays, since a window
// says nothing about a vocabulary, and a new one is learned from the next answers;
// so does the longest body, which is a limit of the server and not of the model.
func (b *Book) Advertise(s Scope, models map[string]Limits, now, until time.Time) {
	now = instant(now)
	if latest := now.Add(AdvertisedFor); until.After(latest) {
		until = latest
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	k := b.scope(s)
	for _, model := range slices.Sorted(maps.Keys(models)) { // in order: a full memory forgets by it
		named := models[model]
		if _, ok := completed(named, Limits{}, Advertised); !ok || len(model) > MaxName {
			continue
		}
		l := Limits{Total: max(named.Total, 0), Input: max(named.Input, 0), Output: max(named.Output, 0)}
		before, known := k.adverts.get(model)
		if known && before.Limits != l {
			if have, _ := k.lessons.get(model); have != nil {
				have.forget(now)
			}
		}
		k.adverts.put(model, advert{Limits: l, until: until})
	}
}

// announced is what an advertisement says, completed by the table, or else the
// table; neither where more than it says was accepted.
func (b *Book) announced(ad advert, model string, accepted Tokens, now time.Time) Limits {
	listed, ok := b.table.lookup(model)
	if now.Before(ad.until) {
		for _, known := range [...]Limits{listed, {}} { // the table may be wrong where the advertisement is right
			if l, plausible := completed(ad.Limits, known, Advertised); plausible && l.input() >= accepted {
				return l
			}
		}
	}
	if ok && listed.input() >= accepted {
		return listed
	}
	return Limits{}
}
