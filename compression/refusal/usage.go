package refusal

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	// maxUsage is how many bytes a usage object is read for.
	maxUsage = 8 << 10
	// maxUsages is how many usage objects of one body are tried.
	maxUsages = 4
)

// Usage is what an upstream counted for an answered request, in tokens.
type Usage struct {
	PromptTokens, CompletionTokens int
}

// ReadUsage reads the token counts of a response object or of one chunk of a
// stream. It reports false where there are none: no usage, a null one, or one
// without counts. Only a byte search looks at the rest of data, so a long answer
// costs next to nothing. Of several usage objects the last one counts.
func ReadUsage(data []byte) (Usage, bool) {
	key := []byte(`"usage"`)
	if !bytes.Contains(data, key) { // much faster than LastIndex, and most chunks end here
		return Usage{}, false
	}
	for range maxUsages {
		i := bytes.LastIndex(data, key)
		if i < 0 {
			break
		}
		// Inside a string the quotes would be escaped, so this is a key, or a
		// string of this one word, which no colon follows.
		if u, ok := usageAt(data[i+len(key):]); ok {
			return u, true
		}
		data = data[:i]
	}
	return Usage{}, false
}

// usageAt reads the object after the key.
func usageAt(b []byte) (Usage, bool) {
	const space = " \t\r\n"
	b, ok := bytes.CutPrefix(bytes.TrimLeft(b, space), []byte{':'})
	if !ok {
		return Usage{}, false
	}
	b = bytes.TrimLeft(b, space)
	if len(b) == 0 || b[0] != '{' {
		return Usage{}, false
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(b[:min(len(b), maxUsage)]), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	u := readCounts(dec)
	return u, u != Usage{}
}

// readCounts reads as much of the object as is there.
func readCounts(dec *jsontext.Decoder) (u Usage) {
	if _, err := dec.ReadToken(); err != nil {
		return Usage{}
	}
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return u
		}
		var to *int
		switch name.String() {
		case "prompt_tokens":
			to = &u.PromptTokens
		case "completion_tokens":
			to = &u.CompletionTokens
		}
		if to == nil || dec.PeekKind() != '0' {
			if dec.SkipValue() != nil {
				return u
			}
			continue
		}
		value, err := dec.ReadToken()
		if err != nil {
			return u
		}
		if n, err := value.Int(); err == nil && n >= 0 && n <= maxNumber {
			*to = int(n)
		}
	}
	return u
}
