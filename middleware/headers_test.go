package middleware

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestHeaderValues(t *testing.T) {
	tests := []struct {
		name string
		got  fmt.Stringer
		want string
	}{
		{"fold alone", foldHeader{Kind: "reused"}, `reused`},
		{"fold with a reason", foldHeader{Kind: "none", Reason: "under"}, `none; reason="under"`},
		{"fold with all", foldHeader{"fallback", "timeout", true}, `fallback; reason="timeout"; retried`},
		{"fold of nothing", foldHeader{}, `unknown`},
		{"tokens of all", tokensHeader{140000, 52000, 128000, "config"}, `before=140000, after=52000, window=128000, source=config`},
		{"tokens not counted", tokensHeader{-1, -1, 128000, "table"}, `window=128000, source=table`},
		{"tokens, window unknown", tokensHeader{10, 10, 0, ""}, `before=10, after=10, source=unknown`},
		{"attempt", attemptHeader{"01890a5d-ac96-774b-bcce-b302099a8057", 3, "committed", false}, `id="01890a5d-ac96-774b-bcce-b302099a8057", generation=3, outcome=committed`},
		{"attempt joined, large", attemptHeader{`a"b\c` + "\n", math.MaxUint64, "running", true}, `id="a\"b\\c?", generation=999999999999999, outcome=running, joined`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.got.String(); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
	if got, want := keyHeader("ab12"), `"ab12"`; got != want {
		t.Errorf("key: got %s, want %s", got, want)
	}
}

func TestConversationID(t *testing.T) {
	long := strings.Repeat("a", 255)
	tests := []struct {
		name   string
		values []string
		want   string
		ok     bool
	}{
		{"absent", nil, "", false},
		{"empty", []string{""}, "", false},
		{"plain", []string{"chat-1"}, "chat-1", true},
		{"quoted", []string{`"chat-1"`}, "chat-1", true},
		{"one pair only", []string{`""chat""`}, `"chat"`, true},
		{"half a pair", []string{`"chat`}, `"chat`, true},
		{"one quote", []string{`"`}, `"`, true},
		{"empty quotes", []string{`""`}, "", false},
		{"escapes are literal", []string{`"a\"b"`}, `a\"b`, true},
		{"parameters are literal", []string{`a;b=1,c`}, `a;b=1,c`, true},
		{"space inside", []string{"a b"}, "", false},
		{"space around", []string{" a\t"}, "a", true},
		{"not ASCII", []string{"ä"}, "", false},
		{"control", []string{"a\x7f"}, "", false},
		{"longest", []string{long}, long, true},
		{"longest, quoted", []string{`"` + long + `"`}, long, true},
		{"too long", []string{long + "a"}, "", false},
		{"several", []string{"a", "a"}, "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := conversationID(http.Header{"Foldgate-Conversation": tt.values})
			if got != tt.want || ok != tt.ok {
				t.Errorf("got %q, %v; want %q, %v", got, ok, tt.want, tt.ok)
			}
		})
	}
}

func TestBypass(t *testing.T) {
	for value, want := range map[string]bool{"?1": true, "1": true, "true": true, "": false, "?0": false, "0": false, "false": false, "yes": false, "?1;a": false} {
		if got := bypass(http.Header{"Foldgate-Bypass": {value}}); got != want {
			t.Errorf("%q: got %v, want %v", value, got, want)
		}
	}
	if bypass(http.Header{}) || bypass(http.Header{"Foldgate-Bypass": {"1", "1"}}) {
		t.Error("absent and doubled are no bypass")
	}
}

func TestStripFoldgate(t *testing.T) {
	h := http.Header{"Foldgate-Fold": {"x"}, "foldgate-key": {"x"}, "FOLDGATE-Other": {"x"}, "Foldgate": {"y"}, "X-Foldgate-A": {"y"}, "A": nil}
	stripFoldgate(h)
	if diff := cmp.Diff(http.Header{"Foldgate": {"y"}, "X-Foldgate-A": {"y"}, "A": nil}, h); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCallerTimeout(t *testing.T) {
	tests := []struct {
		name, read, all string
		want            time.Duration
	}{
		{"none", "", "", 0},
		{"read", "600", "", 10 * time.Minute},
		{"fraction", "600.5", "", 600*time.Second + 500*time.Millisecond},
		{"the smaller", "600", "60", time.Minute},
		{"the smaller, other way", "6", "60", 6 * time.Second},
		{"one is nonsense", "NOT_GIVEN", "60", time.Minute},
		{"nonsense", "NaN", "-1", 0},
		{"zero", "0", "0", 0},
		{"endless", "inf", "1e300", 24 * time.Hour},
		{"too long to read", strings.Repeat("1", 40), "", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := http.Header{}
			h.Set("x-stainless-read-timeout", tt.read)
			h.Set("x-stainless-timeout", tt.all)
			if got := callerTimeout(h); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func FuzzStructured(f *testing.F) {
	f.Add("none", "under", "config", `"id"`, uint64(1), 5, -1, 128000, true)
	f.Add("fäll", "a\"b\\\n", "", "\x00\xff", uint64(math.MaxUint64), math.MaxInt, math.MinInt, -3, false)
	f.Fuzz(func(t *testing.T, token, text, other, id string, generation uint64, before, after, window int, flag bool) {
		for _, kind := range []string{"item", "dictionary"} {
			var values []string
			parse := parseItem
			if kind == "item" {
				values = []string{foldHeader{token, text, flag}.String(), foldHeader{other, id, !flag}.String(), keyHeader(text), keyHeader(id)}
			} else {
				parse = parseDictionary
				values = []string{tokensHeader{before, after, window, token}.String(), attemptHeader{id, generation, other, flag}.String()}
			}
			for _, value := range values {
				if err := parse(value); err != nil {
					t.Errorf("%s %q: %v", kind, value, err)
				}
			}
		}
		for _, h := range []http.Header{{"Foldgate-Conversation": {text}}, {"Foldgate-Conversation": {id, other}}} {
			if got, ok := conversationID(h); ok && (len(got) < 1 || len(got) > 255 || strings.ContainsFunc(got, func(r rune) bool { return r <= ' ' || r > '~' })) {
				t.Errorf("id %q out of %q", got, h)
			}
		}
		if d := callerTimeout(http.Header{"X-Stainless-Timeout": {text}}); d < 0 || d > 24*time.Hour {
			t.Errorf("time-out %v out of %q", d, text)
		}
	})
}

// What follows is a strict reader of the parts of RFC 9651 that are emitted,
// written from its section 4.2.

type sfReader struct{ rest string }

var errSF = errors.New("not a structured field")

func parseItem(s string) error {
	r := &sfReader{s}
	if err := r.item(); err != nil {
		return err
	}
	return r.end()
}

func parseDictionary(s string) error {
	r := &sfReader{s}
	seen := map[string]bool{}
	for {
		name, err := r.key()
		if err != nil {
			return err
		}
		if seen[name] {
			return fmt.Errorf("%w: %s twice", errSF, name)
		}
		seen[name] = true
		if r.take("=") {
			err = r.item()
		} else {
			err = r.parameters()
		}
		if err != nil {
			return err
		}
		r.rest = strings.TrimLeft(r.rest, " \t")
		if r.rest == "" {
			return nil
		}
		if !r.take(",") {
			return fmt.Errorf("%w: %q after a member", errSF, r.rest)
		}
		r.rest = strings.TrimLeft(r.rest, " \t")
	}
}

func (r *sfReader) end() error {
	if r.rest != "" {
		return fmt.Errorf("%w: %q at the end", errSF, r.rest)
	}
	return nil
}

func (r *sfReader) take(s string) bool {
	rest, ok := strings.CutPrefix(r.rest, s)
	if ok {
		r.rest = rest
	}
	return ok
}

func (r *sfReader) while(in func(byte) bool) string {
	n := 0
	for n < len(r.rest) && in(r.rest[n]) {
		n++
	}
	s := r.rest[:n]
	r.rest = r.rest[n:]
	return s
}

const (
	sfLower = "abcdefghijklmnopqrstuvwxyz"
	sfAlpha = sfLower + "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	sfDigit = "0123456789"
)

func oneOf(set string) func(byte) bool {
	return func(c byte) bool { return strings.IndexByte(set, c) >= 0 }
}

func (r *sfReader) key() (string, error) {
	if r.rest == "" || !oneOf(sfLower+"*")(r.rest[0]) {
		return "", fmt.Errorf("%w: no key at %q", errSF, r.rest)
	}
	return r.while(oneOf(sfLower + sfDigit + "_-.*")), nil
}

func (r *sfReader) item() error {
	if err := r.bare(); err != nil {
		return err
	}
	return r.parameters()
}

func (r *sfReader) parameters() error {
	for r.take(";") {
		r.rest = strings.TrimLeft(r.rest, " ")
		if _, err := r.key(); err != nil {
			return err
		}
		if r.take("=") {
			if err := r.bare(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *sfReader) bare() error {
	switch {
	case r.rest == "":
		return fmt.Errorf("%w: no item", errSF)
	case r.rest[0] == '"':
		return r.str()
	case oneOf(sfDigit + "-")(r.rest[0]):
		r.take("-")
		if n := len(r.while(oneOf(sfDigit))); n < 1 || n > 15 {
			return fmt.Errorf("%w: integer of %d digits", errSF, n)
		}
		return nil
	case oneOf(sfAlpha + "*")(r.rest[0]):
		r.while(oneOf(sfAlpha + sfDigit + "!#$%&'*+-.^_`|~:/"))
		return nil
	default:
		return fmt.Errorf("%w: item at %q", errSF, r.rest)
	}
}

func (r *sfReader) str() error {
	for i := 1; i < len(r.rest); i++ {
		switch c := r.rest[i]; {
		case c == '"':
			r.rest = r.rest[i+1:]
			return nil
		case c == '\\':
			if i++; i >= len(r.rest) || r.rest[i] != '"' && r.rest[i] != '\\' {
				return fmt.Errorf("%w: escape", errSF)
			}
		case c < ' ' || c > '~':
			return fmt.Errorf("%w: %q in a string", errSF, c)
		}
	}
	return fmt.Errorf("%w: open string", errSF)
}

func TestStrictReaderIsStrict(t *testing.T) {
	for _, s := range []string{"", `"a`, `a b`, `1;`, `a;B`, `"ä"`, `1234567890123456`, `a;b=`, `"\x"`} {
		if parseItem(s) == nil {
			t.Errorf("item %q was taken", s)
		}
	}
	for _, s := range []string{"", "a=1,", "a=1 b=2", "A=1", "a=1, a=2"} {
		if parseDictionary(s) == nil {
			t.Errorf("dictionary %q was taken", s)
		}
	}
}
