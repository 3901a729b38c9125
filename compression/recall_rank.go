package compression

import "slices"

// ranking is the passages of the middle by what a question asks for. They are
// numbered in the order of the conversation, those of the asking message left out.
type ranking struct {
	q      *query
	parts  []part
	n      int   // passages
	length int64 // terms in all of them
	hits   []hits
	score  []int64 // of each passage
}

// part is passages of a run that follow one another: from its number from up to
// its number to. The first of them is number base of all.
type part struct {
	*run
	from, to, base int
}

// hits is the passages of one part that hold a term.
type hits struct {
	term, part int
	posts      []posting
}

// choose is the choice itself: the best passages of the covered messages, best
// first, with their frame in at most room tokens; and how many they are.
func (v *View) choose(t *tellings, tells teller, covered int, question string, asker int, room Tokens) (recall, Tokens) {
	q := newQuery(question, v.memo.choices.runs.seed)
	if len(q.terms) == 0 {
		return recall{}, 0
	}
	r := v.search(q, covered, asker)
	q.weigh(r.n)
	if !r.asks() {
		return recall{}, 0
	}
	r.rank()
	return v.fill(t, r, tells, room)
}

// search finds the passages of the first covered messages that hold the terms of
// the question.
func (v *View) search(q *query, covered, asker int) *ranking {
	r := &ranking{q: q}
	v.eachRun(covered, func(known *run) {
		from, to := known.saidBy(asker)
		r.add(known, 0, from)
		r.add(known, to, len(known.passages))
	})
	return r
}

// saidBy is the passages of a message, by their numbers.
func (r *run) saidBy(message int) (from, to int) {
	at := func(message int) int {
		i, _ := slices.BinarySearchFunc(r.passages, message, func(p passage, m int) int { return int(p.message) - m })
		return i
	}
	return at(message), at(message + 1)
}

// add takes passages of a run, and what they hold of the question.
func (r *ranking) add(known *run, from, to int) {
	if from == to {
		return
	}
	for _, n := range known.lengths[from:to] {
		r.length += int64(n)
	}
	for i := range r.q.terms {
		t := &r.q.terms[i]
		if posts := between(known.of(t.hash), from, to); len(posts) > 0 {
			t.passages += int32(len(posts)) //nolint:gosec // fewer than passages
			r.hits = append(r.hits, hits{i, len(r.parts), posts})
		}
	}
	r.parts = append(r.parts, part{known, from, to, r.n})
	r.n += to - from
}

// between is the postings of the passages from one number up to another.
func between(posts []posting, from, to int) []posting {
	at := func(number int) int {
		i, _ := slices.BinarySearchFunc(posts, number, func(p posting, n int) int { return p.number() - n })
		return i
	}
	if len(posts) == 0 {
		return nil
	}
	return posts[at(from):at(to)]
}

// each visits the passages that hold a term: by their number among all, and among
// those of their run.
func (r *ranking) each(h *hits, visit func(number, of int, p *part, times int64)) {
	p := &r.parts[h.part]
	for _, post := range h.posts {
		visit(p.base+post.number()-p.from, post.number(), p, post.times())
	}
}

// asks reports whether the question asks for something that was said, and does
// not merely drive on, agree or thank.
func (r *ranking) asks() bool {
	for i := range r.q.terms {
		if t := &r.q.terms[i]; t.kind >= termJoin && t.telling >= askNamed {
			return true
		}
	}
	type sum struct {
		bits   int64
		halves int32
		own    bool
	}
	sums := make([]sum, r.n)
	asks := false
	for i := range r.hits {
		t := &r.q.terms[r.hits[i].term]
		if t.telling == 0 {
			continue
		}
		add := sum{t.telling, 2, !t.filler}
		if t.pair {
			add = sum{t.telling / 2, 1, true}
		}
		r.each(&r.hits[i], func(number, _ int, _ *part, _ int64) {
			s := &sums[number]
			s.bits, s.halves, s.own = s.bits+add.bits, s.halves+add.halves, s.own || add.own
			asks = asks || s.own && s.halves >= askHalf && s.bits >= askBits
		})
	}
	return asks
}

// rank scores by BM25 (k1 1.2, b 0.5), and gives each passage seven tenths of its
// better neighbour's: an answer stands beside what it answers.
func (r *ranking) rank() {
	average := max(1, r.length/int64(max(1, r.n)))
	own := make([]int64, r.n)
	for i := range r.hits {
		weight := r.q.terms[r.hits[i].term].weight * 1024
		r.each(&r.hits[i], func(number, of int, p *part, times int64) {
			own[number] += weight * (22 * times * average) / (10*times*average + 6*average + 6*int64(p.lengths[of]))
		})
	}
	r.score = make([]int64, r.n)
	for i := range own {
		near := int64(0)
		if i > 0 {
			near = own[i-1]
		}
		if i+1 < len(own) {
			near = max(near, own[i+1])
		}
		r.score[i] = own[i] + near*7/10
	}
}

// at is the passage with a number among all: its run, and its number there.
func (r *ranking) at(number int) (*run, int) {
	i, ok := slices.BinarySearchFunc(r.parts, number, func(p part, n int) int { return p.base - n })
	if !ok {
		i--
	}
	p := &r.parts[i]
	return p.run, p.from + number - p.base
}
