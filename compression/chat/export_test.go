package chat

// SizeOf is how much is remembered: blocks, and strings in all of them.
func SizeOf(s *Seen) (blocks, strings int) {
	for i := range s.shards {
		s.shards[i].mu.Lock()
		n, leaps := s.shards[i].blocks.Size()
		s.shards[i].mu.Unlock()
		blocks, strings = blocks+n, strings+leaps
	}
	return blocks, strings
}
