package chat_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/foldgate/foldgate/compression/chat"
)

// history spells messages in short: "s" system, "u" user, "a" assistant,
// "a:x,y" assistant with calls x and y, "f:n" assistant with a deprecated call
// of n, "t:x" the result of x, "n:n" the result of the deprecated call of n.
func history(short string) string {
	var messages []string
	for _, m := range strings.Fields(short) {
		kind, ids, _ := strings.Cut(m, ":")
		switch kind {
		case "s":
			messages = append(messages, `{"role":"system","content":"x"}`)
		case "u":
			messages = append(messages, `{"role":"user","content":"x"}`)
		case "t":
			messages = append(messages, fmt.Sprintf(`{"role":"tool","tool_call_id":%q}`, ids))
		case "n":
			messages = append(messages, fmt.Sprintf(`{"role":"function","name":%q}`, ids))
		case "f":
			messages = append(messages, fmt.Sprintf(`{"role":"assistant","function_call":{"name":%q,"arguments":""}}`, ids))
		default:
			var calls []string
			if strings.Contains(m, ":") {
				for id := range strings.SplitSeq(ids, ",") {
					calls = append(calls, fmt.Sprintf(`{"id":%q,"function":{"name":"f","arguments":""}}`, id))
				}
			}
			messages = append(messages, `{"role":"assistant","tool_calls":[`+strings.Join(calls, ",")+`]}`)
		}
	}
	return `{"messages":[` + strings.Join(messages, ",") + `]}`
}

func marks(cuts []bool) string {
	var b strings.Builder
	for _, ok := range cuts {
		b.WriteByte("-|"[map[bool]int{true: 1}[ok]])
	}
	return b.String()
}

func TestCuttable(t *testing.T) {
	tests := []struct{ name, history, want string }{
		{"nothing", "", "|"},
		{"head only", "s s", "|"},
		{"talk", "s u a u a", "|||||"},
		{"one call", "u a:1 t:1 u", "||-||"},
		{"several results", "u a:1,2 t:1 t:2 a u", "||--|||"},
		{"results in another order", "a:1,2 t:2 t:1 u", "|--||"},
		{"call in flight", "u a:1", "||-"},
		{"one of two results yet", "u a:1,2 t:1", "||--"},
		{"all results", "u a:1,2 t:1 t:2", "||--|"},
		{"result without a call", "u t:9 u", "|-||"},
		{"result first", "t:9 u", "|||"},
		{"result before its call", "t:1 a:1 u", "|-||"},
		{"a user after calls", "u a a:1 t:1 u", "||--||"},
		{"a user after calls, and before them", "u a:1 t:1 u", "||-||"},
		{"calls first", "a:1 t:1 a:2 t:2 u", "|---||"},
		{"an answer after calls", "u a a:1 t:1 a u", "|||-|||"},
		{"unanswered call in the middle", "u a:1 u a:2 t:2 u", "||||-||"},
		{"split by another message", "u a:1 u t:1 u", "||--||"},
		{"answered twice", "a:1 t:1 u t:1 u", "|---||"},
		{"id used again", "a:1 t:1 u a:1 t:1 u", "|-||-||"},
		{"id used again, late result", "a:1 u a:1 t:1 t:1 u", "|||--||"},
		{"interleaved", "a:1 a:2 t:1 t:2 u", "|---||"},
		{"system in the middle", "u s a:1 t:1", "|||-|"},
		{"no ids", "a: t: u a: t: u", "|-||-||"},
		{"result without an id", "a:1 t: u", "|-||"},
		{"all results without ids", "u a:1,2 t: t:", "||--|"},
		{"too few results without ids", "u a:1,2 t:", "||--"},
		{"deprecated", "u f:g n:g u", "||-||"},
		{"deprecated, other name", "u f:g n:h u", "||-||"},
		{"deprecated, twice", "f:g n:g f:g n:g u", "|---||"},
		{"deprecated, in flight", "u f:g", "||-"},
		{"deprecated, orphan", "u n:g u", "|-||"},
		{"kinds do not mix", "a:g n:g u", "|-||"},
		{"name of a call equals an id", "f:1 u t:1 u", "||-||"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := marks(parse(t, history(tt.history)).Cuttable()); got != tt.want {
				t.Errorf("%s: got %s, want %s", tt.history, got, tt.want)
			}
		})
	}
}

// TestCuttableIgnoresCallsOfUsers: only an assistant calls.
func TestCuttableIgnoresCallsOfUsers(t *testing.T) {
	body := `{"messages":[{"role":"user","tool_calls":[{"id":"1"}]},{"role":"assistant"},{"role":"tool","tool_call_id":"1"},{"role":"user"}]}`
	if got := marks(parse(t, body).Cuttable()); got != "||-||" {
		t.Errorf("got %s", got)
	}
}

// TestCuttableProperty compares with the rule said plainly, in quadratic time.
func TestCuttableProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kinds := []string{"u", "a", "a:1", "a:2", "a:1,2", "t:1", "t:2", "t:3", "f:1", "n:1", "f:2", "n:2"}
		short := rapid.SliceOfN(rapid.SampledFrom(kinds), 0, 14).Draw(t, "history")
		r, err := read(history(strings.Join(short, " ")))
		if err != nil {
			t.Fatal(err)
		}
		got := r.Cuttable()
		if want := plainly(r.Messages); !slices.Equal(got[:len(got)-1], want) {
			t.Fatalf("%v: got %s, want %s", short, marks(got), marks(want))
		}
	})
}

func plainly(messages []chat.Message) []bool {
	var ok []bool
	for p := range messages {
		legal := !messages[p].Role.Result()
		for j := p; j < len(messages); j++ {
			if c := answers(messages, j); c >= 0 && c < p {
				legal = false
			}
		}
		if legal && messages[p].Role != chat.RoleUser {
			before, after := turn(messages, p-1, -1), turn(messages, p, 1)
			legal = after != chat.RoleUser || before == chat.RoleUser
		}
		ok = append(ok, legal || p == 0)
	}
	return ok
}

// turn is the role of the first turn from message i on, in steps.
func turn(messages []chat.Message, i, step int) chat.Role {
	for ; i >= 0 && i < len(messages); i += step {
		if m := messages[i]; !m.Role.Result() && len(m.Calls) == 0 {
			return m.Role
		}
	}
	return chat.RoleOther
}

// answers is the message whose call message j answers, or -1.
func answers(messages []chat.Message, j int) int {
	m := messages[j]
	latest := -1
	for c := range j {
		for _, l := range messages[c].Calls {
			deprecated := l.ID == ""
			switch m.Role {
			case chat.RoleTool:
				if !deprecated && l.ID == m.ToolCallID {
					latest = c
				}
			case chat.RoleFunction:
				if deprecated && l.Name == m.Name {
					latest = c
				}
			}
		}
	}
	if m.Role != chat.RoleFunction || latest >= 0 {
		return latest
	}
	for c := range j {
		for _, l := range messages[c].Calls {
			if l.ID == "" {
				latest = c
			}
		}
	}
	return latest
}
