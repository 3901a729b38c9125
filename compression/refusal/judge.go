package refusal

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	// What a limit must be to be believed, in tokens.
	minLimit = 1 << 10
	maxLimit = 10_000_000
	// maxNumber is the largest number of tokens that is read at all.
	maxNumber = 1_000_000_000
	// What a limit must be to be believed, in bytes.
	minBytes = 1 << 10
	maxBytes = 4 << 30
)

// matcher is a wording ready to be asked.
type matcher struct {
	wording
	needs  []byte
	re     *regexp.Regexp
	groups []string
}

// finding is a refusal whose numbers are as the upstream wrote them.
type finding struct {
	Refusal
	estimated bool // the sizes are "about"
}

const (
	number = `\d[\d,_]*`
	size   = `\d[\d,_]*(?:\.\d+)?`
	unit   = `bytes?|[kmg]i?b`
)

// matchers and sizes are compiled once and never changed.
var (
	matchers = compile(table())
	sizes    = regexp.MustCompile(`(` + number + `) (?:in|of|from|for) (?:the )?([a-z]+)`)
)

func compile(all []wording) []matcher {
	var names []string
	for _, name := range []string{"limit", "input", "output"} {
		names = append(names, "{"+name+"}", "(?P<"+name+">"+number+")")
	}
	names = append(names, "{n}", number, "{bytes}", "(?P<bytes>"+size+")", "{unit}", "(?P<unit>"+unit+")")
	expand := strings.NewReplacer(names...)
	compiled := make([]matcher, 0, len(all))
	for _, w := range all {
		re := regexp.MustCompile(expand.Replace(w.pattern))
		compiled = append(compiled, matcher{wording: w, needs: []byte(w.needs), re: re, groups: re.SubexpNames()})
	}
	return compiled
}

// judge says what the report means under the response's status.
func (r *report) judge(status int) Refusal {
	if r.vetoed() {
		return Refusal{}
	}
	if status >= 500 && !r.has(typedOverflow) {
		return r.match(template).settled()
	}
	found := r.match(0)
	if found.Kind == None {
		found.Kind = r.kindByCode()
	}
	if found.Kind == None && status == contentTooLarge {
		found.Kind = r.kindOf413()
	}
	if found.Kind == Overflow && r.nCtx > 0 && r.nPrompt > 0 {
		found.Limit, found.Actual = r.nCtx, r.nPrompt
	}
	return found.settled()
}

// vetoed tells rate limits and quotas, which share words with an overflow.
func (r *report) vetoed() bool {
	if r.status == 429 {
		return true
	}
	for _, code := range r.codes {
		switch {
		case code == "tokens", code == "requests",
			strings.Contains(code, "rate_limit"), strings.Contains(code, "quota"), strings.Contains(code, "throttl"):
			return true
		}
	}
	for _, words := range []string{
		"rate limit", "rate_limit", "rate-limit", "per minute", "per min ", "(tpm)", "too many requests",
		"too many tokens, please wait", "quota", "throttling",
	} {
		if bytes.Contains(r.text, []byte(words)) {
			return true
		}
	}
	return false
}

// match asks those wordings of the table that have the flags.
func (r *report) match(of flag) finding {
	for _, m := range matchers {
		if m.flags&of != of || !bytes.Contains(r.text, m.needs) {
			continue
		}
		if at := m.re.FindSubmatchIndex(r.text); at != nil {
			return m.read(r.text, at)
		}
	}
	return finding{}
}

// read makes a finding of the groups of a match.
func (m matcher) read(text []byte, at []int) finding {
	found := finding{Refusal: Refusal{Kind: m.kind, InputLimit: m.flags&inputLimit != 0}}
	var bytesOf, unitOf string
	for i, name := range m.groups {
		if name == "" || at[2*i] < 0 {
			continue
		}
		group := string(text[at[2*i]:at[2*i+1]])
		switch name {
		case "limit":
			found.Limit = atoi(group)
		case "input":
			found.Actual = atoi(group)
		case "output":
			found.Output = atoi(group)
		case "least":
			found.LowerBound = true
		case "about":
			found.estimated = true
		case "parts":
			found.Actual, found.Output = sumParts(group)
		case "bytes":
			bytesOf = group
		case "unit":
			unitOf = group
		}
	}
	found.Bytes = byteSize(bytesOf, unitOf)
	return found
}

// byteSize is a size in bytes; 0 if it is none, or none that is plausible.
func byteSize(size, unit string) int64 {
	f, err := strconv.ParseFloat(strings.NewReplacer(",", "", "_", "").Replace(size), 64)
	if err != nil {
		return 0
	}
	factor, base := 1.0, 1000.0
	if strings.Contains(unit, "i") {
		base = 1024
	}
	switch {
	case strings.HasPrefix(unit, "k"):
		factor = base
	case strings.HasPrefix(unit, "m"):
		factor = base * base
	case strings.HasPrefix(unit, "g"):
		factor = base * base * base
	}
	if f *= factor; f < minBytes || f > maxBytes {
		return 0
	}
	return int64(f)
}

// sumParts adds up what is input and what is output in a list such as
// "8 in the messages, 2 in the functions, and 4 in the completion".
func sumParts(list string) (input, output int) {
	for _, part := range sizes.FindAllStringSubmatch(list, -1) {
		switch part[2] {
		case "completion", "output":
			output += atoi(part[1])
		default:
			input += atoi(part[1])
		}
	}
	return input, output
}

func (r *report) kindByCode() Kind {
	if slices.ContainsFunc(overflowCodes(), r.has) {
		return Overflow
	}
	if slices.ContainsFunc(structureCodes(), r.has) {
		return Structure
	}
	if slices.ContainsFunc(tooLargeCodes(), r.has) {
		return TooLarge
	}
	return None
}

// contentTooLarge is the status of RFC 9110 for a body of too many bytes.
const contentTooLarge = 413

// kindOf413 is what the status says by itself. Proxies and the servers behind
// them mean bytes, and mostly say no more; some that count tokens use it too, and
// some where one image or file is too large, which no smaller conversation helps.
func (r *report) kindOf413() Kind {
	if bytes.Contains(r.text, []byte("tokens")) {
		return Overflow
	}
	for _, one := range [...]string{"image", "picture", "audio", "video", "attachment", "file size", "file is too", "file too"} {
		if bytes.Contains(r.text, []byte(one)) {
			return None
		}
	}
	return TooLarge
}

// settled tells the output cap from the overflow by the numbers, and drops those
// that cannot be right.
func (f finding) settled() Refusal {
	switch f.Kind {
	case Structure, None:
		return Refusal{Kind: f.Kind}
	case TooLarge:
		return Refusal{Kind: TooLarge, Bytes: f.Bytes}
	}
	if f.Limit > 0 && f.Output > 0 {
		// An output of up to three quarters of the window leaves room for a
		// folded input. Above that only the caller can help, unless the input
		// by itself is too large as well.
		f.Kind = Overflow
		if f.Output > f.Limit-f.Limit/4 && f.Actual < f.Limit {
			f.Kind = OutputCap
		}
	}
	if f.Limit < minLimit || f.Limit > maxLimit {
		f.Limit, f.InputLimit = 0, false
	}
	if f.estimated {
		f.Actual = 0
	}
	if f.Actual == 0 {
		f.LowerBound = false
	}
	return f.Refusal
}

// atoi reads a number with or without separators; 0 if it is none, or too large.
func atoi(s string) int {
	n, err := strconv.Atoi(strings.NewReplacer(",", "", "_", "").Replace(s))
	if err != nil || n > maxNumber {
		return 0
	}
	return n
}
