package middleware

import (
	"net/http"
	"testing"
)

// An error with status 200 proves nothing, however it is cut.
func TestProofOfWhatIsNoStream(t *testing.T) {
	for _, tt := range []struct {
		pieces []string
		proven bool
	}{
		{[]string{`{"error":{"message":"x"}}`}, false},
		{[]string{"  \n", `{"error":{"message":"x"}}`}, false},
		{[]string{`{"err`, `or": {"message":"x"}}`}, false},
		{[]string{"\n", "\n"}, false},
		{[]string{"\n", `{"id":"x"`}, true},
		{[]string{"\x1f\x8b"}, true},
	} {
		var p proof
		p.begin(http.Header{"Content-Type": {"application/json"}})
		proven := false
		for _, piece := range tt.pieces {
			proven = p.write([]byte(piece)) || proven
		}
		if proven != tt.proven {
			t.Errorf("%q: proven %t, want %t", tt.pieces, proven, tt.proven)
		}
	}
}
