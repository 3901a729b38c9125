package compression_test

import (
	"encoding/json"

	"github.com/foldgate/foldgate/compression"
	"github.com/foldgate/foldgate/compression/foldtest"
	"github.com/foldgate/foldgate/compression/window"
)

// breaches lists what a folded request breaks of section 5.2.
func breaches(orig []byte, f compression.Folded, text string, b window.Budget) []string {
	return foldtest.Breaches(orig, f, text, b)
}

// judgedMessage is a message as another JSON reader sees it.
type judgedMessage struct {
	raw  json.RawMessage
	Role string `json:"role"`
}

// judged takes a body apart: what stands before the messages, the messages, and
// what stands after.
func judged(body []byte) (before, after string, out []judgedMessage, err error) {
	var r struct {
		Messages []json.RawMessage `json:"messages"`
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return "", "", nil, err
	}
	for _, raw := range r.Messages {
		m := judgedMessage{raw: raw}
		if err := json.Unmarshal(raw, &m); err != nil {
			return "", "", nil, err
		}
		out = append(out, m)
	}
	return "", "", out, nil
}
