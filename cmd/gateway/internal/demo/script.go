package demo

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
)

//go:embed conversation.txt
var conversation string

// entry is one line of the conversation.
type entry struct {
	Who  string // user, assistant, call, result
	Text string
}

// message is a chat message as a client keeps it.
type message struct {
	Role       string `json:"role"`
	Content    string `json:"content"`
	ToolCalls  []call `json:"tool_calls,omitempty"`
	ToolCallID string `json:"tool_call_id,omitempty"`
}

type call struct {
	ID       string   `json:"id"`
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// readScript parses the conversation.
func readScript(text string) ([]entry, error) {
	var script []entry
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		line := lines.Text()
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		who, rest, ok := strings.Cut(line, ": ")
		if !ok {
			return nil, fmt.Errorf("read the demo's conversation: no speaker in %q", line)
		}
		script = append(script, entry{Who: who, Text: strings.ReplaceAll(rest, `\n`, "\n")})
	}
	return script, lines.Err()
}

// message is entry i as it stands in a request.
func (e entry) message(i int) (message, error) {
	switch e.Who {
	case "user", "assistant":
		return message{Role: e.Who, Content: e.Text}, nil
	case "call":
		name, arguments, ok := strings.Cut(e.Text, " ")
		if !ok || !json.Valid([]byte(arguments)) {
			return message{}, fmt.Errorf("read the demo's conversation: call %d has no arguments", i)
		}
		return message{Role: "assistant", ToolCalls: []call{{
			ID: callID(i), Type: "function", Function: function{Name: name, Arguments: arguments},
		}}}, nil
	case "result":
		return message{Role: "tool", Content: e.Text, ToolCallID: callID(i - 1)}, nil
	default:
		return message{}, fmt.Errorf("read the demo's conversation: unknown speaker %q", e.Who)
	}
}

func callID(i int) string { return fmt.Sprintf("call_%02d", i) }
