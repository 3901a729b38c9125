package redact_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/foldgate/foldgate/compression/redact"
)

// pieces are what texts are made of: what goes, what stays, what rules look for.
func pieces() []string {
	p := slices.Clone(kept)
	for _, marked := range gone {
		text, _ := split(marked)
		p = append(p, text)
	}
	for _, token := range issued() {
		p = append(p, token)
	}
	p = append(p, block("RSA PRIVATE KEY", 600, 3), redact.Mark,
		"=", ":", "://", "@", `"`, `\"`, "'", "`", " ", "\n", `\n`, "-", "--", "-----", "-----BEGIN ", "PRIVATE KEY", "-----END ", ">", "<", "~", "：",
		"password", "token", "secret", "api", "key", "value", "name", "eyJ", "sk-", "AKIA", "Bearer ", "cookie", "authorization", ".", ",", ";", "&", "?", "+", "/",
		"é", "密", "\xff", "\xe3", "a", "Z", "7")
	slices.Sort(p)
	return p
}

// texts draws texts.
func texts() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces()), 0, 12).Draw(t, "pieces"), rapid.SampledFrom([]string{"", " ", "\n", "="}).Draw(t, "joint"))
	})
}

// fragments are the parts of what rules look for, to be put together in every
// order.
var fragments = append(strings.Fields(`password= password: token: secret= sk-abcdefghijklmnopqrstuvwx12 ://u:p@h :// @ " \" ' : = hunter2
	[redacted] Cookie: a=b1234; --password eyJabcdefghijklmnopqrstu.eyJabcdefghij.abcdefgh ; , & ? / <password> </ ~ value: name: abc123def456
	Authorization: Bearer ** ] [ 密码： \\ \n ghp_abcdefghijklmnopqrstuvwxyz0123456789`),
	" ", "\n", "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----")

func TestPromisesOfFragments(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		promises(t, strings.Join(rapid.SliceOfN(rapid.SampledFrom(fragments), 0, 14).Draw(t, "fragments"), ""))
	})
}

// failer is what promises needs of *testing.T and *rapid.T.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// promises checks what holds for every text.
func promises(t failer, s string) {
	t.Helper()
	got := redact.Text(s)
	if again := redact.Text(got); again != got {
		t.Fatalf("not idempotent: %q → %q → %q", s, got, again)
	}
	if len(got) > 3*len(s) {
		t.Fatalf("%d bytes became %d: %q", len(s), len(got), s)
	}
	if utf8.ValidString(s) && !utf8.ValidString(got) {
		t.Fatalf("a character was cut: %q → %q", s, got)
	}
}

func TestPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { promises(t, texts().Draw(t, "text")) })
}

// TestLines: lines are redacted one by one, private keys and names above their
// values apart.
func TestLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := texts().Draw(t, "a"), texts().Draw(t, "b")
		if strings.Contains(a+b, "-----") || strings.Contains(b, "value") {
			t.Skip()
		}
		if got, want := redact.Text(a+"\n"+b), redact.Text(a)+"\n"+redact.Text(b); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	})
}

// TestAnywhere: a token goes at every offset of every text where words end.
func TestAnywhere(t *testing.T) {
	var tokens []string
	for _, token := range issued() {
		tokens = append(tokens, token)
	}
	slices.Sort(tokens)
	rapid.Check(t, func(t *rapid.T) {
		text, token := texts().Draw(t, "text"), rapid.SampledFrom(tokens).Draw(t, "token")
		at := rapid.IntRange(0, len(text)).Draw(t, "at")
		got := redact.Text(text[:at] + " " + token + " " + text[at:])
		if strings.Count(got, token) > strings.Count(text, token) { // glued to a word, it may stay there
			t.Fatalf("%q is left in %q", token, got)
		}
	})
}

func TestNoAllocation(t *testing.T) {
	clean := strings.Repeat(strings.Join(kept, "\n"), 3)
	if n := testing.AllocsPerRun(10, func() { redact.Text(clean) }); n != 0 {
		t.Errorf("%v allocations for a text without a secret", n)
	}
}

func FuzzText(f *testing.F) {
	for _, p := range pieces() {
		f.Add(p)
	}
	for i := range fragments {
		f.Add(strings.Join(fragments[i:], ""))
	}
	f.Fuzz(func(t *testing.T, s string) { promises(t, s) })
}
