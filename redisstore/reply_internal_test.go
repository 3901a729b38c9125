package redisstore

import (
	"strings"
	"testing"

	"github.com/foldgate/foldgate/ownership"
)

// Whatever a script, or somebody in its place, answers, reading it ends with a value
// or an error, and never with a value that the reply did not have.
func FuzzReply(f *testing.F) {
	f.Add(int64(replyClaimed), "1|x", "a|b|c", 0)
	f.Add(int64(replyView), "1700000000000", strings.Repeat("|", len(fieldNames)-1), 1)
	f.Add(int64(replyEnded), "committed", "", 2)
	f.Add(int64(replyBusy), "", strings.Repeat("1|", len(fieldNames)-1), 1)
	f.Add(int64(0), "", "", 0)
	f.Add(int64(replyCorrupt)+1, "9223372036854775808", "-1", 3)
	f.Fuzz(func(t *testing.T, first int64, texts, list string, shape int) {
		values := []any{first}
		for text := range strings.SplitSeq(texts, "|") {
			values = append(values, text)
		}
		fields := []any{}
		for field := range strings.SplitSeq(list, "|") {
			fields = append(fields, field)
		}
		switch shape % 4 {
		case 0:
			values = append(values, any(fields))
		case 1:
			values = []any{first, any(fields), texts}
		case 2:
			values = append(values, nil, first)
		default:
			values = values[1:]
		}
		r := newReply(values)
		c, err := claimed(&r)
		if is := r.code == replyClaimed; err == nil && r.err == nil && is != (c.Verdict == ownership.VerdictClaimed) {
			t.Errorf("%v came to %v", values, c.Verdict)
		}
		r = newReply(values)
		_, _ = view(&r)
		r = newReply(values)
		if _, err := r.done(); err == nil && r.err == nil && r.code != replyDone && r.code != replyAlready {
			t.Errorf("%v is done", values)
		}
		r = newReply(values)
		_ = r.refusal()
	})
}
