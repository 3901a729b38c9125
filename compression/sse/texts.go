package sse

// texts is a buffer in which several texts are built, one after another. What
// it gave out stays untouched until recycle.
type texts struct {
	buf   []byte
	start int // where the text that is being built begins
}

func (t *texts) add(s []byte) { t.buf = append(t.buf, s...) }

// len is the length of the text that is being built.
func (t *texts) len() int { return len(t.buf) - t.start }

// take gives out the text and begins another one.
func (t *texts) take() []byte {
	end := len(t.buf)
	text := t.buf[t.start:end:end]
	t.start = end
	return text
}

// drop forgets the text that is being built, and frees a large buffer.
func (t *texts) drop() { t.buf, t.start = nil, 0 }

// recycle makes room by overwriting what was given out.
func (t *texts) recycle() {
	if t.start > 0 {
		t.buf = t.buf[:copy(t.buf, t.buf[t.start:])]
		t.start = 0
	}
}
