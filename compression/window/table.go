package window

import (
	"bytes"
	_ "embed"
	"fmt"
	"strconv"
	"strings"
)

//go:embed models.txt
var modelsText string

// table holds the well-known models by name, in lower case.
type table map[string]known

type known struct {
	Limits
	family bool // also every name that continues this one behind a -
}

// newTable reads models.txt: lines of name, total, input and output, with - for
// what is not known and * behind the name of a family; # begins a comment.
func newTable(text string) (table, error) {
	t := make(table)
	for i, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		if len(fields) != 4 {
			return nil, fmt.Errorf("read models, line %d: %d fields, not name, total, input and output", i+1, len(fields))
		}
		var numbers [3]Tokens
		for k, field := range fields[1:] {
			if field == "-" {
				continue
			}
			n, err := strconv.Atoi(field)
			if err != nil {
				return nil, fmt.Errorf("read models, line %d: %w", i+1, err)
			}
			numbers[k] = Tokens(n)
		}
		name, family := strings.CutSuffix(fields[0], "*")
		if _, ok := t[name]; ok {
			return nil, fmt.Errorf("read models, line %d: %s stands twice", i+1, name)
		}
		t[name] = known{Limits{Total: numbers[0], Input: numbers[1], Output: numbers[2], Source: Table}, family}
	}
	return t, nil
}

// lookup answers the limits of a model by its name as callers write it: in any
// case, behind a provider ("openai/gpt-4o", "us.anthropic.claude-…"), with a
// variant (":free", "@…"), a date or a version ("-2024-08-06", "-latest"). The
// fullest name wins; at last the longest family.
func (t table) lookup(model string) (Limits, bool) {
	model = model[strings.LastIndexByte(model, '/')+1:]
	if len(model) > MaxName {
		return Limits{}, false
	}
	var buffer [MaxName]byte
	name := buffer[:copy(buffer[:], model)]
	for i, b := range name {
		name[i] = lower(b)
	}
	name = withoutVendor(name)
	if k, ok := t[string(name)]; ok {
		return k.Limits, true
	}
	if i := bytes.IndexAny(name, "@:"); i >= 0 {
		name = name[:i]
	}
	for rest := name; ; {
		if k, ok := t[string(rest)]; ok {
			return k.Limits, true
		}
		shorter := withoutDate(rest)
		if len(shorter) == len(rest) {
			break
		}
		rest = shorter
	}
	for i := bytes.LastIndexByte(name, '-'); i > 0; i = bytes.LastIndexByte(name[:i], '-') {
		if k, ok := t[string(name[:i])]; ok && k.family {
			return k.Limits, true
		}
	}
	return Limits{}, false
}

// withoutVendor takes leading words before a dot away, as Bedrock has them. A
// version such as gpt-4.1 has a digit or a hyphen before its dot.
func withoutVendor(name []byte) []byte {
	for {
		i := bytes.IndexByte(name, '.')
		if i <= 0 {
			return name
		}
		for _, b := range name[:i] {
			if b < 'a' || b > 'z' {
				return name
			}
		}
		name = name[i+1:]
	}
}

// withoutDate takes one trailing date or version away: -20240806, -2024-08-06,
// -0806, -001, -v1, -latest.
func withoutDate(name []byte) []byte {
	i := bytes.LastIndexByte(name, '-')
	if i <= 0 {
		return name
	}
	switch last := name[i+1:]; {
	case string(last) == "latest",
		len(last) == 8 && digits(last),
		len(last) == 4 && digits(last),
		len(last) == 3 && last[0] == '0' && digits(last),
		len(last) == 2 && last[0] == 'v' && digits(last[1:]):
		return name[:i]
	}
	const date = len("-2024-08-06")
	if n := len(name) - date; n > 0 && name[n] == '-' && digits(name[n+1:n+5]) &&
		name[n+5] == '-' && digits(name[n+6:n+8]) && name[n+8] == '-' && digits(name[n+9:]) {
		return name[:n]
	}
	return name
}

func digits(s []byte) bool {
	for _, b := range s {
		if b < '0' || b > '9' {
			return false
		}
	}
	return len(s) > 0
}
