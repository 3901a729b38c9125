package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/foldgate/foldgate/compression/window"
	"github.com/foldgate/foldgate/middleware"
)

// outlined folds messages within a window and returns the outline and the report.
func outlined(t *testing.T, total int, messages []map[string]any) (outlineShape, middleware.DryRunReport) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"model": "m", "messages": messages})
	if err != nil {
		t.Fatal(err)
	}
	rule, err := window.ParseRule(fmt.Sprint(total))
	if err != nil {
		t.Fatal(err)
	}
	book, err := window.NewBook(window.BookConfig{Rules: []window.Rule{rule}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := middleware.DryRun(book, window.Settings{Trigger: 0.8, KeepRecent: 0.25, Recall: 0.1, ReserveOutput: 64}, body)
	if err != nil {
		t.Fatal(err)
	}
	return outlineOf(body, r), r
}

func turns(n int) []map[string]any {
	messages := []map[string]any{{"role": "system", "content": "You keep the harbour."}}
	for i := range n {
		messages = append(messages,
			map[string]any{"role": "user", "content": fmt.Sprintf("Berth %d: who lies there, and until when is it paid?", i)},
			map[string]any{"role": "assistant", "content": fmt.Sprintf("Berth %d: the ship Marigold-%d lies there until day %d, and owes %d crowns for the crane.", i, i, i, 100+i)})
	}
	return messages
}

// Every message has one fate; what is told of it is what stands in the two bodies.
func TestOutline(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("the level was steady and the gate was shut again\n", 300)
	ask := map[string]any{"role": "user", "content": "What does Marigold-3 owe?"}
	call := map[string]any{"role": "assistant", "content": nil, "tool_calls": []map[string]any{{"id": "c", "type": "function", "function": map[string]any{"name": "read", "arguments": "{}"}}}}
	for name, tc := range map[string]struct {
		messages          []map[string]any
		carrier           string
		recalled, shrinks bool
	}{
		"it fits":             {turns(2), "", false, false},
		"the rest begins":     {append(turns(40), ask), "first", true, false},
		"a result is too big": {append(turns(40), ask, call, map[string]any{"role": "tool", "tool_call_id": "c", "content": long}), "", false, true},
	} {
		o, r := outlined(t, 1500, tc.messages)
		counts := map[string]int{}
		for i, m := range o.Messages {
			counts[m.Fate]++
			if want := fmt.Sprint(tc.messages[i]["role"]); m.Role != want || m.Bytes == 0 || (m.Position < 0) != (m.Fate == fateFolded) {
				t.Errorf("%s: message %d is told as %+v", name, i, m)
			}
		}
		if len(o.Messages) != len(tc.messages) || counts[fateHead] != r.Head || counts[fateFolded] != r.Covered {
			t.Errorf("%s: %v of %+v", name, counts, r)
		}
		if (counts[fateShrunk] > 0) != tc.shrinks || counts[fateShrunk] > r.Shrunk {
			t.Errorf("%s: %d are told as shrunk, %d were", name, counts[fateShrunk], r.Shrunk)
		}
		if (r.Covered > 0) != (o.Handoff != "") || tc.carrier != "" && o.Carrier != tc.carrier || (o.Handoff == "") != (o.Carrier == "") {
			t.Errorf("%s: the handoff stands %q: %.60q", name, o.Carrier, o.Handoff)
		}
		if tc.recalled != (r.Recalled > 0) || tc.recalled != strings.Contains(o.Recall, "Marigold-3") {
			t.Errorf("%s: %d recalled: %q", name, r.Recalled, o.Recall)
		}
		var forwarded struct{ Messages []struct{ Content any } }
		if err := json.Unmarshal(r.Body, &forwarded); err != nil {
			t.Fatal(err)
		}
		for _, put := range []string{o.Handoff, o.Recall} {
			if !strings.Contains(fmt.Sprint(forwarded), put) {
				t.Errorf("%s: this is not in what is forwarded: %.80q", name, put)
			}
		}
		if strings.Contains(o.Handoff, strings.TrimSpace(recallMark)) {
			t.Errorf("%s: the handoff holds the recalled passages", name)
		}
	}
}

// In a long tool loop the handoff leads a copy of the last covered user message.
func TestOutlineOfACopy(t *testing.T) {
	t.Parallel()
	messages := append(turns(3), map[string]any{"role": "user", "content": "Read all the gauges, one after another."})
	for i := range 60 {
		id := fmt.Sprint("c", i)
		messages = append(messages,
			map[string]any{"role": "assistant", "content": nil, "tool_calls": []map[string]any{{"id": id, "type": "function", "function": map[string]any{"name": "read", "arguments": fmt.Sprintf(`{"gauge":%d}`, i)}}}},
			map[string]any{"role": "tool", "tool_call_id": id, "content": fmt.Sprintf("gauge %d: %d cm, wind %d, gate shut", i, 100+i, i%9)})
	}
	o, r := outlined(t, 1500, messages)
	if r.Covered == 0 || o.Carrier != "copy" || o.Handoff == "" || strings.Contains(o.Handoff, "Read all the gauges, one after another.\n\n[End") {
		t.Errorf("%d are folded, the handoff stands %q", r.Covered, o.Carrier)
	}
	last := o.Messages[len(o.Messages)-1]
	if last.Fate != fateKept {
		t.Errorf("the last message is %+v", last)
	}
}

// What is no chat request has no outline.
func TestOutlineOfNothing(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"", "nonsense", `{"messages":1}`} {
		if o := outlineOf([]byte(body), middleware.DryRunReport{Body: []byte(body)}); len(o.Messages) > 0 || o.Messages == nil {
			t.Errorf("%q: got %+v", body, o)
		}
	}
}
