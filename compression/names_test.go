package compression_test

import (
	"strings"
	"testing"

	"github.com/foldgate/foldgate/compression"
	"github.com/foldgate/foldgate/compression/chat"
	"github.com/foldgate/foldgate/compression/window"
)

// A call's name is the caller's text like any other, and may be of any length:
// it is told by its beginning, and costs no more than its bytes.
func TestLongCallNameIsCut(t *testing.T) {
	var name strings.Builder
	for i := range 400_000 { // words that are all different
		for range 4 {
			name.WriteByte(byte('a' + i%26))
			i /= 26
		}
		name.WriteByte(' ')
	}
	turn := `,{"role":"user","content":"` + strings.Repeat("alpha bravo ", 40) + `"},{"role":"assistant","content":"` + strings.Repeat("echo foxtrot ", 40) + `"}`
	body := []byte(`{"model":"m","messages":[{"role":"user","content":"go"},{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"` +
		name.String() + `","arguments":"{}"}}]},{"role":"tool","tool_call_id":"1","content":"x"}` + strings.Repeat(turn, 200) + `,{"role":"user","content":"and?"}]}`)
	e, err := chat.ReadEnvelope(body)
	if err != nil {
		t.Fatal(err)
	}
	r, err := chat.Parse(body, e)
	if err != nil {
		t.Fatal(err)
	}
	s := window.Settings{Trigger: 0.8, KeepRecent: 0.25, ReserveOutput: 4096}
	b := window.NewBudget(window.Limits{Total: 16384, Source: window.Config}, s, 0, 1, 1)
	h := compression.NewMemo(1000).View(r).Deterministic(b, s, nil)
	if !strings.Contains(h.Text, "aaaa baaa") {
		t.Errorf("the call is not told of:\n%.400s", h.Text)
	}
}
