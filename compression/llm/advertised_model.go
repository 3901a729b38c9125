package llm

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/foldgate/foldgate/compression/window"
)

// model is one entry of a list.
type model struct {
	names   []string
	display string // a name for people, where there is another one
	owner   string
	status  string // llama.cpp's router: loaded, loading, unloaded
	more    bool
	// studio: LM Studio's own API, where only what is loaded has a window.
	studio  bool
	loaded  window.Tokens
	running []*model // its loaded instances, which have names of their own
	// total, input and output are the smallest that were named; anyOutput stands
	// under a key that means something else at some.
	total, input, output, anyOutput window.Tokens
}

// limits is what the model accepts.
func (m *model) limits() window.Limits {
	l := window.Limits{Total: m.total, Input: m.input, Output: m.output}
	if l.Output == 0 {
		l.Output = m.anyOutput
	}
	if m.studio {
		l.Total, l.Input = m.loaded, 0
	}
	if l.Total == 0 && l.Input == 0 {
		return window.Limits{}
	}
	return l
}

// maxDepth is how deep in an entry limits stand at any provider.
const maxDepth = 3

// read reads an object. other gets the arrays and objects that are none of ours,
// to be read or skipped; nil skips them.
func (m *model) read(dec *jsontext.Decoder, depth int, other func(key string) error) error {
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return err
		}
		key := name.String()
		switch kind := dec.PeekKind(); {
		case kind == '{' && depth < maxDepth && holdsLimits(key):
			err = m.read(dec, depth+1, nil)
		case kind == '[' && key == "loaded_instances":
			m.studio = true
			err = m.instances(dec)
		case kind == '[' && key == "aliases" && depth == 0:
			err = m.aliases(dec)
		case (kind == '{' || kind == '[') && other != nil:
			err = other(key)
		case kind == '{' || kind == '[':
			err = dec.SkipValue()
		default:
			err = m.scalar(dec, key, depth)
		}
		if err != nil {
			return err
		}
	}
	_, err := dec.ReadToken()
	return err
}

// holdsLimits names the objects in an entry that limits stand in at some
// provider.
func holdsLimits(key string) bool {
	switch key {
	case "top_provider", "limits", "limit", "metadata", "meta", "capabilities", "model_info", "model_spec",
		"context_window", "status", "config", "default_generation_settings":
		return true
	}
	return false
}

func (m *model) scalar(dec *jsontext.Decoder, key string, depth int) error {
	token, err := dec.ReadToken()
	if err != nil {
		return err
	}
	switch kind := token.Kind(); {
	case kind == 't' && key == "has_more":
		m.more = true
	case kind == '"':
		text := token.String()
		m.text(key, text, depth)
		if n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64); err == nil {
			m.number(key, float64(n))
		}
	case kind == '0':
		if n, err := strconv.ParseFloat(token.String(), 64); err == nil {
			m.number(key, n)
		}
	}
	return nil
}

// text takes a string.
func (m *model) text(key, value string, depth int) {
	if value == "" || len(value) > window.MaxName {
		return
	}
	switch {
	case key == "value": // status.value
		if depth == 1 {
			m.status = value
		}
	case depth > 0:
	case key == "id", key == "key", key == "model", key == "canonical_slug":
		m.names = append(m.names, value)
	case key == "name":
		m.display = value
	case key == "owned_by":
		m.owner = value
	case key == "state" && (value == "loaded" || value == "not-loaded"):
		m.studio = true
	}
}

// number takes a number, where it is a plausible limit. Sizes that a model was
// trained with (n_ctx_train) have other keys.
func (m *model) number(key string, value float64) {
	n := window.Tokens(0)
	if value >= 1 && value <= float64(window.MaxLearned) {
		n = window.Tokens(value)
	}
	switch key {
	case "context_length", "context_window", "max_model_len", "max_context_length", "max_context_window_tokens", "max_context_tokens",
		"max_total_tokens", "max_seq_len", "max_sequence_length", "n_ctx", "context", "availableContextTokens":
		least(&m.total, n, window.MinLearned)
	case "max_input_tokens", "max_prompt_tokens", "max_input_length", "inputTokenLimit", "input_token_limit", "input":
		least(&m.input, n, window.MinLearned)
	case "max_completion_tokens", "max_output_tokens", "max_output_length", "outputTokenLimit", "output_token_limit", "output":
		least(&m.output, n, 1)
	case "max_tokens":
		least(&m.anyOutput, n, 1)
	case "loaded_context_length":
		m.studio = true
		least(&m.loaded, n, window.MinLearned)
	}
}

// least keeps the smaller one of two figures for one thing, such as a model's own
// window and that of the provider which serves it.
func least(have *window.Tokens, n, smallest window.Tokens) {
	if n >= smallest && (*have == 0 || n < *have) {
		*have = n
	}
}

// aliases reads further names of a model.
func (m *model) aliases(dec *jsontext.Decoder) error {
	return elements(dec, '"', func() error {
		if len(m.names) >= maxAsked {
			return dec.SkipValue()
		}
		token, err := dec.ReadToken()
		if err != nil {
			return err
		}
		m.text("id", token.String(), 0)
		return nil
	})
}

// instances reads what LM Studio has loaded of a model. Each instance has a name
// of its own; under the model's name any of them may answer.
func (m *model) instances(dec *jsontext.Decoder) error {
	return elements(dec, '{', func() error {
		one := &model{}
		if err := one.read(dec, 0, nil); err != nil {
			return err
		}
		least(&m.loaded, one.total, window.MinLearned)
		if len(m.running) < maxAsked {
			m.running = append(m.running, one)
		}
		return nil
	})
}
