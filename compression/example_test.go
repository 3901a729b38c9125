package compression_test

import (
	"fmt"
	"strings"

	"github.com/foldgate/foldgate/compression"
	"github.com/foldgate/foldgate/compression/chat"
	"github.com/foldgate/foldgate/compression/window"
)

// longTalk is a chat request of so many turns.
func longTalk(turns int) []byte {
	var b strings.Builder
	b.WriteString(`{"model":"local-7b","messages":[{"role":"system","content":"You are a pilot of the harbour."}`)
	for i := range turns {
		fmt.Fprintf(&b, `,{"role":"user","content":"Where does ship %d lie?"},{"role":"assistant","content":"Ship %d lies at berth %d, behind the crane, until Monday noon."}`, i, i, i*7)
	}
	b.WriteString(`,{"role":"user","content":"Which ships leave on Monday?"}]}`)
	return []byte(b.String())
}

// viewOf measures a request, and says what it may use of a window.
func viewOf(memo *compression.Memo, body []byte, s window.Settings, l window.Limits) (*compression.View, window.Budget, error) {
	e, err := chat.ReadEnvelope(body)
	if err != nil {
		return nil, window.Budget{}, err
	}
	r, err := chat.Parse(body, e)
	if err != nil {
		return nil, window.Budget{}, err
	}
	named := window.Tokens(max(e.MaxTokens, e.MaxCompletionTokens))
	return memo.View(r).For(e.Model), window.NewBudget(l, s, named, 1, 1), nil
}

// A request that outgrew its window is folded without a model.
func Example() {
	memo := compression.NewMemo(1 << 10) // kept from request to request
	shares := window.Settings{Trigger: 0.8, KeepRecent: 0.25, Recall: 0.1, ReserveOutput: 512}
	v, b, err := viewOf(memo, longTalk(100), shares, window.Limits{Total: 2000})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("over the trigger:", v.Total() > b.Trigger)

	h := v.Deterministic(b, shares, nil)
	f, err := v.Fold(h, b)
	fmt.Println("some messages replaced:", f.Covered > 0, "fits:", f.Fits, err)
	// Output:
	// over the trigger: true
	// some messages replaced: true fits: true <nil>
}

// A model writes the summary, in as many steps as its own window asks for. Ask
// stands for a call of it.
func ExampleView_Transcript() {
	ask := func(prompt string) compression.Answer {
		return compression.Answer{Text: "## Done\nThe berths of the ships were told.", FinishReason: "stop"}
	}
	shares := window.Settings{Trigger: 0.8, KeepRecent: 0.25, ReserveOutput: 512}
	v, b, err := viewOf(compression.NewMemo(1<<10), longTalk(300), shares, window.Limits{Total: 8000})
	if err != nil {
		fmt.Println(err)
		return
	}
	var previous *compression.Handoff // of an earlier turn, if there was one
	covered, ok := v.Target(b, shares, 0)
	if !ok {
		fmt.Println("nothing is worth folding")
		return
	}
	script, err := v.Transcript(previous, covered, b).Script(window.Limits{Total: 8000}, 0)
	if err != nil {
		fmt.Println(err) // ErrNoRoom: this model's window holds no useful step
		return
	}
	answer, notes := compression.Answer{}, ""
	for i := range script.Len() {
		if i > 0 { // the answer to one step is the notes of the next
			if notes, err = v.Notes(answer, previous, covered, script.Most()); err != nil {
				fmt.Println(err)
				return
			}
		}
		answer = ask(script.Prompt(i, notes))
	}
	h, err := v.Accept(answer, previous, covered, b)
	if err != nil {
		fmt.Println(err) // a *RefusedError: nothing has changed
		return
	}
	f, err := v.Fold(h, b)
	fmt.Println("several steps:", script.Len() > 1, "fits:", f.Fits, err)
	body, _ := compression.Body(h.Text)
	fmt.Println(body)
	// Output:
	// several steps: true fits: true <nil>
	// ## Done
	// The berths of the ships were told.
}
