package foldgate_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/foldgate/foldgate"
	"github.com/foldgate/foldgate/middleware"
)

// Names in the documentation are those of the program: settings, flags, variables,
// commands, targets of make, headers, attributes. The settings are those of
// docs/configuration.md, which is written from their table. Metrics are held to
// their catalog by package telemetry.
func TestNamesOnPagesExist(t *testing.T) {
	t.Parallel()
	k := known{
		flags:     namesIn(t, "docs/configuration.md", "(?m)^- Flag: `(--[a-z-]+)"),
		variables: namesIn(t, "docs/configuration.md", "(?m)^- Environment: `([A-Z_]+)"),
		settings:  append(namesIn(t, "docs/configuration.md", "(?m)^### `([a-z_.]+)`"), namesIn(t, "docs/configuration.md", "`(summarizer\\.[a-z_]+)`")...),
		commands:  namesIn(t, "cmd/gateway/commands.go", `(?m)^\t\t\{"([a-z]+)", `),
		targets:   namesIn(t, "Makefile", `(?m)^([a-z-]+):.*##`),
		headers:   namesIn(t, "openapi.yaml", `(Foldgate-[A-Za-z]+)`),
		traced:    constants(t, "internal/semconv"),
		internal:  internalVariables(t),
	}
	for name, list := range map[string][]string{
		"flags": k.flags, "variables": k.variables, "settings": k.settings, "commands": k.commands, "targets": k.targets, "headers": k.headers, "attributes": k.traced,
	} {
		if len(list) < 4 {
			t.Fatalf("found %d %s only", len(list), name)
		}
	}
	for _, p := range pages(t) {
		for _, wrong := range k.wrong(p) {
			t.Errorf("%s: %s", p.name, wrong)
		}
	}
}

// known are the names that there are.
type known struct{ flags, variables, settings, commands, targets, headers, traced, internal []string }

var (
	flagName     = regexp.MustCompile(`(?:^|[\s\[|])(--[a-z][a-z-]+)`)
	variableName = regexp.MustCompile(`\bFOLDGATE_[A-Z_]+\b`)
	settingName  = regexp.MustCompile(`^(?:compression|summarizer)\.[a-z_]+$`)
	commandName  = regexp.MustCompile(`(?:^|bin/|\./cmd/)gateway ([a-z]+)\b`)
	targetName   = regexp.MustCompile(`^make ([a-z-]+)\b`)
	headerName   = regexp.MustCompile(`\bFoldgate-[A-Z][A-Za-z]*\b`)
	tracedName   = regexp.MustCompile(`^(?:foldgate|ownership)\.[a-z][a-z_.]*`)
)

// wrong are the names on a page that there are not.
func (k known) wrong(p page) (wrong []string) {
	miss := func(what, name string, list []string) {
		if !slices.Contains(list, name) {
			wrong = append(wrong, "there is no "+what+" "+name)
		}
	}
	for _, name := range variableName.FindAllString(p.text, -1) {
		miss("variable", name, append(k.variables, k.internal...))
	}
	for _, name := range headerName.FindAllString(p.text, -1) {
		miss("header", name, k.headers)
	}
	for _, snippet := range p.snippets() {
		ours := strings.HasPrefix(snippet, "--") || commandName.MatchString(snippet)
		for _, m := range flagName.FindAllStringSubmatch(snippet, -1) {
			if ours {
				miss("flag", m[1], k.flags)
			}
		}
		for _, m := range commandName.FindAllStringSubmatch(snippet, -1) {
			miss("command gateway", m[1], k.commands)
		}
		if m := targetName.FindStringSubmatch(snippet); m != nil {
			miss("target", m[1], k.targets)
		}
		if settingName.MatchString(snippet) && !slices.Contains(k.traced, snippet) {
			miss("setting", snippet, k.settings)
		}
		if name := tracedName.FindString(snippet); name != "" && !strings.HasSuffix(name, ".yaml") && !strings.HasPrefix(name, "ownership.") {
			miss("attribute", name, k.traced)
		}
	}
	return wrong
}

// snippets are a page's pieces of code: what stands in code font, and the lines of
// shell blocks, those that go on in the next line as one.
func (p page) snippets() []string {
	var all []string
	for _, m := range code.FindAllStringSubmatch(p.prose, -1) {
		all = append(all, m[1])
	}
	for _, block := range p.blocks["sh"] {
		for line := range strings.SplitSeq(strings.ReplaceAll(block, "\\\n", " "), "\n") {
			line, _, _ = strings.Cut(line, " # ")
			all = append(all, strings.TrimSpace(line))
		}
	}
	return all
}

func namesIn(t *testing.T, file, pattern string) []string {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(raw), -1) {
		all = append(all, m[1])
	}
	return all
}

// internalVariables are those of tests and scripts.
func internalVariables(t *testing.T) []string {
	t.Helper()
	all := namesIn(t, "Makefile", `\b(FOLDGATE_[A-Z_]+)\b`)
	return append(all, "FOLDGATE_TESTDATA")
}

// constants are the texts of a package's constants.
func constants(t *testing.T, folder string) []string {
	t.Helper()
	var all []string
	for _, value := range constantsNamed(t, folder, "") {
		all = append(all, value)
	}
	return all
}

// constantsNamed are the texts of a package's constants whose name begins with
// prefix, by name.
func constantsNamed(t *testing.T, folder, prefix string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(folder + "/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("read %s: %v", folder, err)
	}
	all := map[string]string{}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			for i, id := range spec.Names {
				if i >= len(spec.Values) || !strings.HasPrefix(id.Name, prefix) {
					continue
				}
				ast.Inspect(spec.Values[i], func(n ast.Node) bool {
					if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING {
						all[id.Name], _ = strconv.Unquote(text.Value)
					}
					return true
				})
			}
			return true
		})
	}
	return all
}

// The operating page tells all that there is: errors, kinds and reasons of a fold,
// events of an attempt, messages of the log.
func TestOperatingPageIsComplete(t *testing.T) {
	t.Parallel()
	p := readPage(t, "docs/operating.md")
	told := func(what, name string) {
		if !strings.Contains(p.prose, "`"+name) && !strings.Contains(p.prose, name+"`") {
			t.Errorf("nothing is said of the %s %q", what, name)
		}
	}
	for _, e := range middleware.ErrorTable() {
		told("error", e.Code)
	}
	for what, names := range map[string]map[string]string{
		"kind":   constantsNamed(t, "middleware", "kind"),
		"reason": constantsNamed(t, "middleware", "reason"),
		"event":  constantsNamed(t, "internal/semconv", "Event"),
	} {
		if len(names) < 6 {
			t.Errorf("found %d names of a %s only", len(names), what)
		}
		for _, name := range names {
			told(what, name)
		}
	}
	messages := logMessages(t)
	if len(messages) < 15 {
		t.Errorf("found %d messages only", len(messages))
	}
	for _, message := range messages {
		told("message", message)
	}
	if !strings.Contains(string(foldgate.OpenAPI), "Foldgate-Fold") {
		t.Error("openapi.yaml describes no header")
	}
}

// logMessages are the messages of the program's log from info on.
func logMessages(t *testing.T) []string {
	t.Helper()
	written := regexp.MustCompile(`[lL]og(?:ger)?\.(?:Info|Warn|WarnContext|Error|LogAttrs)\((?:[^"\n]*, )?"([^"]+)"`)
	var all []string
	for _, pattern := range []string{"cmd/gateway/*.go", "cmd/gateway/internal/admin/*.go", "cmd/gateway/internal/telemetry/*.go", "middleware/*.go", "redisstore/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("read %s: %v", pattern, err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			raw, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.SplitSeq(string(raw), "\n") {
				if m := written.FindStringSubmatch(line); m != nil && !strings.Contains(line, "LevelDebug") {
					all = append(all, m[1])
				}
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Checks that never find anything would pass for ever.
func TestWrongPagesAreFound(t *testing.T) {
	t.Parallel()
	k := known{flags: []string{"--listen"}, commands: []string{"serve"}, headers: []string{"Foldgate-Fold"}, settings: []string{"compression.wait"}}
	for text, want := range map[string]int{
		"`--listen`, `gateway serve --listen X`, `Foldgate-Fold`, `compression.wait`": 0,
		"`--listne`":                                 1,
		"`gateway sevre --listen X`":                 1,
		"Foldgate-Fould":                             1,
		"`compression.wiat`":                         1,
		"`FOLDGATE_NOTHING`":                         1,
		"`foldgate.nothing`":                         1,
		"`make nothing`":                             1,
		"```sh\ngateway serve \\\n  --listne X\n```": 1,
	} {
		name := filepath.Join(t.TempDir(), "page.md")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := k.wrong(readPage(t, name)); len(got) != want {
			t.Errorf("%s: found %q, want %d", text, got, want)
		}
	}
	p := page{name: "docs/x.md", prose: "# A `b` c\n## Twice\n## Twice\n<a id=\"own\"></a>"}
	if got := anchors(p); !slices.Equal(got, []string{"a-b-c", "twice", "twice-1", "own"}) {
		t.Errorf("anchors %q", got)
	}
	for target, bad := range map[string]bool{"#twice": false, "#own": false, "#never": true, "nothing.md": true, "design.md": false, "../../x": true} {
		if got := follow(t, p, target); (got != "") != bad {
			t.Errorf("%s: %q", target, got)
		}
	}
	for target, bad := range map[string]bool{
		"https://example.com/a": false, "http://example.com": true, "https://localhost/a": true, "https://a:b@example.com": true, "https://exa mple.com": true,
		"https://github.com/o/r/blob/main/README.md": true, "https://github.com/o/r/blob/00657f1d517a961c87214f0db7ac202f87b8989f/README.md": false,
	} {
		if got := malformed(target); (got != "") != bad {
			t.Errorf("%s: %q", target, got)
		}
	}
	p = page{prose: "[a](b.md) `[c](d.md)` <img alt=\"x\" src=\"e.svg\"> ![f](g.png)"}
	if got := p.links(); !slices.Equal(got, []string{"b.md", "g.png", "e.svg"}) {
		t.Errorf("links %q", got)
	}
}
