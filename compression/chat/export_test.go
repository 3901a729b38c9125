package chat

// SizeOf is how much is remembered: blocks, and strings in all of them.
func SizeOf(s *Seen) (blocks, strings int) {
	for i := range s.shards {
		s.shards[i].mu.Lock()
		blocks += len(s.shards[i].slots)
		for _, slot := range s.shards[i].slots {
			strings += len(slot.leaps)
		}
		s.shards[i].mu.Unlock()
	}
	return blocks, strings
}
