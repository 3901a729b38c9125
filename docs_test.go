package foldgate_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// page is one page of the documentation.
type page struct {
	name string // from the root
	text string
	// prose is the text without its blocks of code.
	prose string
	// blocks are the blocks of code, by their language.
	blocks map[string][]string
}

// pages are all of them. What is built or belongs to tests is none.
func pages(t *testing.T) []page {
	t.Helper()
	var all []page
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (name == "bin" || name == "dist" || d.Name() == "testdata" || d.Name() == "node_modules" || name != "." && strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir
		case !d.IsDir() && strings.HasSuffix(name, ".md"):
			all = append(all, readPage(t, name))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 8 {
		t.Fatalf("found %d pages only", len(all))
	}
	return all
}

func readPage(t *testing.T, name string) page {
	t.Helper()
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	p := page{name: filepath.ToSlash(name), text: string(raw), blocks: map[string][]string{}}
	var prose, block []string
	language, inside := "", false
	for line := range strings.SplitSeq(p.text, "\n") {
		switch fence, isFence := strings.CutPrefix(strings.TrimSpace(line), "```"); {
		case isFence && !inside:
			language, inside, block = fence, true, nil
		case isFence:
			p.blocks[language] = append(p.blocks[language], strings.Join(block, "\n"))
			inside = false
		case inside:
			block = append(block, line)
		default:
			prose = append(prose, line)
		}
	}
	if inside {
		t.Errorf("%s: a block of code does not end", name)
	}
	p.prose = strings.Join(prose, "\n")
	return p
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#{1,6} +(.+?) *$`)
	ownID   = regexp.MustCompile(`<a id="([^"]+)">`)
	code    = regexp.MustCompile("`([^`\n]+)`")
)

// Every link into the repository leads somewhere, and every anchor is there.
func TestLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	all := pages(t)
	links := 0
	for _, p := range all {
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(p.prose, ""), -1) {
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			links++
			if wrong := follow(t, p, m[1]); wrong != "" {
				t.Errorf("%s: %s: %s", p.name, m[1], wrong)
			}
		}
	}
	if links < 50 {
		t.Errorf("found %d links only", links)
	}
}

// follow says what is wrong with a link on a page; empty: nothing.
func follow(t *testing.T, p page, target string) string {
	t.Helper()
	file, anchor, anchored := strings.Cut(target, "#")
	to := p
	if file != "" {
		name := filepath.Join(filepath.Dir(p.name), file)
		if strings.HasPrefix(name, "..") {
			return "leaves the repository"
		}
		if _, err := os.Stat(name); err != nil {
			return "there is no such file"
		}
		if anchored && strings.HasSuffix(name, ".md") {
			to = readPage(t, name)
		} else if anchored {
			return "only pages have anchors"
		}
	}
	if anchored && !slices.Contains(anchors(to), anchor) {
		return "there is no such heading"
	}
	return ""
}

// anchors are the names under which the headings of a page can be reached, as
// GitHub makes them, and those that the page gives itself.
func anchors(p page) []string {
	var all []string
	seen := map[string]int{}
	for _, m := range heading.FindAllStringSubmatch(p.prose, -1) {
		text := link.ReplaceAllString(m[1], "]")
		var slug strings.Builder
		for _, r := range strings.ToLower(text) {
			switch {
			case r == ' ':
				slug.WriteByte('-')
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				slug.WriteRune(r)
			}
		}
		name := slug.String()
		if n := seen[name]; n > 0 {
			name += "-" + string(rune('0'+n))
		}
		seen[slug.String()]++
		all = append(all, name)
	}
	for _, m := range ownID.FindAllStringSubmatch(p.prose, -1) {
		all = append(all, m[1])
	}
	return all
}

// Go code in the documentation is code that is compiled and run: each block stands
// in an example, word for word. Three dots in a line of their own leave something
// out.
func TestGoOnPagesIsCompiled(t *testing.T) {
	t.Parallel()
	var sources []string
	for _, pattern := range []string{"examples/*/*.go", "*/example_test.go"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			raw, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			sources = append(sources, unindented(string(raw)))
		}
	}
	shown := 0
	for _, p := range pages(t) {
		for _, block := range p.blocks["go"] {
			for part := range strings.SplitSeq(unindented(block), "\n…\n") {
				shown++
				if !slices.ContainsFunc(sources, func(source string) bool { return strings.Contains(source, part) }) {
					t.Errorf("%s: this stands in no example:\n%s", p.name, part)
				}
			}
		}
	}
	if shown < 5 {
		t.Errorf("found %d pieces of Go only", shown)
	}
}

// unindented is the text without what its lines begin with.
func unindented(text string) string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		lines = append(lines, strings.TrimSpace(line))
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}

// Words that stand twice are slips.
func TestNoWordStandsTwice(t *testing.T) {
	t.Parallel()
	for _, p := range pages(t) {
		words := strings.Fields(code.ReplaceAllString(p.prose, "·"))
		for i := 1; i < len(words); i++ {
			if w := words[i]; w == words[i-1] && unicode.IsLetter([]rune(w)[0]) {
				t.Errorf("%s: %q stands twice, before %q", p.name, w, strings.Join(words[i+1:min(i+5, len(words))], " "))
			}
		}
	}
}
