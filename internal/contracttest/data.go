package contracttest

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// checkData is for every response of the data plane.
func (d *Description) checkData(r response) error {
	chat := r.method == http.MethodPost && strings.HasSuffix(r.path, chatEnd)
	if err := d.checkFields(r, chat); err != nil {
		return err
	}
	if !ownError(r) {
		if chat {
			d.note(http.MethodPost, chatPath, "default")
		}
		return nil
	}
	code, err := d.checkError(r)
	if err != nil {
		return err
	}
	documented := d.doc.Paths.Value(chatPath).Post.Responses.Value(strconv.Itoa(r.status))
	if documented == nil || !slices.Contains(codesOf(documented.Value), code) {
		return fmt.Errorf("the error %d %s is not documented", r.status, code)
	}
	for name, h := range documented.Value.Headers {
		if h.Value.Required && !own(name) && r.header.Get(name) == "" {
			return fmt.Errorf("the field %s is missing", name)
		}
	}
	d.note(http.MethodPost, chatPath, strconv.Itoa(r.status), code)
	return nil
}

// checkFields holds our own fields against their grammars, wherever they are.
func (d *Description) checkFields(r response, chat bool) error {
	for _, header := range []http.Header{r.header, r.trailer, late(r.body)} {
		for name, values := range header {
			name = strings.TrimPrefix(name, http.TrailerPrefix)
			switch {
			case !own(name):
				continue
			case !chat:
				return fmt.Errorf("the field %s on what is no chat request", name)
			case len(values) != 1:
				return fmt.Errorf("the field %s is there %d times", name, len(values))
			}
			if err := d.checkField(name, values[0]); err != nil {
				return err
			}
		}
	}
	for name, h := range d.doc.Paths.Value(chatPath).Post.Responses.Default().Value.Headers {
		if chat && h.Value.Required && len(r.header[name]) == 0 {
			return fmt.Errorf("the field %s is missing", name)
		}
	}
	return nil
}

// checkField holds one of our fields against its grammar, and remembers its words.
func (d *Description) checkField(name, value string) error {
	grammar := d.grammars[name]
	if grammar == nil {
		return fmt.Errorf("the field %s is not documented", name)
	}
	groups := grammar.FindStringSubmatch(value)
	if groups == nil {
		return fmt.Errorf("the field %s is %q, against its grammar", name, value)
	}
	for _, word := range groups[1:] {
		if word != "" {
			d.note(name, word)
		}
	}
	return nil
}

// ownError reports whether the gateway wrote a response itself.
func ownError(r response) bool {
	return r.status >= 400 && bytes.HasPrefix(r.body, []byte(`{"error":{"message":`)) && bytes.HasSuffix(r.body, []byte("}}\n")) &&
		(bytes.Contains(r.body, []byte(`,"type":"invalid_request_error","param":`)) || bytes.Contains(r.body, []byte(`,"type":"server_error","param":`)))
}

// late are the fields that a stream which was kept alive tells in a comment frame.
func late(body []byte) http.Header {
	header := http.Header{}
	if !bytes.HasPrefix(body, []byte(":")) {
		return header
	}
	for line := range bytes.Lines(body) {
		field, comment := strings.CutPrefix(strings.TrimRight(string(line), "\n"), ": ")
		if name, value, ok := strings.Cut(field, ": "); comment && ok && own(name) {
			header[name] = append(header[name], value)
		}
	}
	return header
}
