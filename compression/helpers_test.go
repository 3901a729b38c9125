package compression_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/foldgate/foldgate/compression"
	"github.com/foldgate/foldgate/compression/chat"
	"github.com/foldgate/foldgate/compression/window"
)

// fataler is what helpers need of *testing.T and *rapid.T.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

func settings() window.Settings {
	return window.Settings{Trigger: 0.8, KeepRecent: 0.25, Recall: 0.05, ReserveOutput: 4096}
}

// budgetOf is what a window leaves, by the rules of the contract, for tests that
// do not depend on how package window computes it.
func budgetOf(total int, correction, step float64) window.Budget {
	reserve := min(4096, total/4)
	usable := total - reserve
	usable -= max(64, usable*4/100)
	return window.Budget{
		Limits:     window.Limits{Total: window.Tokens(total), Source: window.Config},
		Usable:     window.Tokens(usable),
		Trigger:    window.Tokens(usable * 8 / 10),
		Correction: correction,
		Step:       step,
	}
}

func budget(total int) window.Budget { return budgetOf(total, 1, 1) }

func parse(t fataler, body string) *chat.Request {
	t.Helper()
	e, err := chat.ReadEnvelope([]byte(body))
	if err != nil {
		t.Fatalf("reading the envelope of %.200s: %v", body, err)
	}
	r, err := chat.Parse([]byte(body), e)
	if err != nil {
		t.Fatalf("parsing %.200s: %v", body, err)
	}
	return r
}

func view(t fataler, body string) *compression.View {
	t.Helper()
	return compression.NewMemo(1 << 12).View(parse(t, body))
}

// quote is a JSON string.
func quote(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic(err)
	}
	return strings.TrimSpace(b.String())
}

func said(role, text string) string {
	return fmt.Sprintf(`{"role":%q,"content":%s}`, role, quote(text))
}

func called(args string, ids ...string) string {
	var calls []string
	for _, id := range ids {
		calls = append(calls, fmt.Sprintf(`{"id":%q,"type":"function","function":{"name":"lookup","arguments":%s}}`, id, quote(args)))
	}
	return `{"role":"assistant","content":null,"tool_calls":[` + strings.Join(calls, ",") + `]}`
}

func result(id, text string) string {
	return fmt.Sprintf(`{"role":"tool","tool_call_id":%q,"content":%s}`, id, quote(text))
}

func request(messages ...string) string {
	return `{"model":"m","messages":[` + strings.Join(messages, ",") + `],"temperature":0.70}`
}

// words is text that differs with its seed and repeats itself little.
func words(seed, n int) string {
	vocabulary := strings.Fields("river stone harbor lantern copper meadow signal timber anchor violet marble orchard canyon ledger " +
		"falcon willow ember quartz saddle cinder hollow beacon thicket garnet")
	var b strings.Builder
	x := uint32(seed)*2654435761 + 1
	for i := range n {
		x = x*1664525 + 1013904223
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(vocabulary[x>>16%uint32(len(vocabulary))])
		if i%17 == 16 {
			fmt.Fprintf(&b, " v%d.", x>>20)
		}
	}
	return b.String()
}

// garden is a conversation of so many turns that ends with a user's question;
// every third turn makes two parallel calls.
func garden(turns, size int) []string {
	m := []string{said("system", "You are a careful assistant.")}
	for i := range turns {
		m = append(m, said("user", fmt.Sprintf("question %d: %s", i, words(i, size))))
		if i%3 == 1 {
			a, b := fmt.Sprintf("call_%d_a", i), fmt.Sprintf("call_%d_b", i)
			m = append(m, called(fmt.Sprintf(`{"q":%s,"limit":10}`, quote(words(i*7, 8))), a, b),
				result(a, "rows: "+words(i*11, size)), result(b, "rows: "+words(i*13, size)))
		}
		m = append(m, said("assistant", fmt.Sprintf("answer %d: %s", i, words(i*3, size))))
	}
	return append(m, said("user", "final question: what did we decide?"))
}

// foldWithout folds a request without a model, as the gateway does.
func foldWithout(t fataler, body string, b window.Budget) (compression.Folded, compression.Handoff, error) {
	t.Helper()
	v := view(t, body)
	h := v.Deterministic(b, settings(), nil)
	f, err := v.Fold(h, b)
	return f, h, err
}

func mustFold(t *testing.T, v *compression.View, h compression.Handoff, b window.Budget) compression.Folded {
	t.Helper()
	f, err := v.Fold(h, b)
	if err != nil {
		t.Fatalf("folding: %v", err)
	}
	return f
}

func parseAny(body string) (*chat.Request, error) {
	e, err := chat.ReadEnvelope([]byte(body))
	if err != nil {
		return nil, err
	}
	return chat.Parse([]byte(body), e)
}
