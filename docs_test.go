package foldgate_test

import (
	"io/fs"
	"net/url"
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
	tagged  = regexp.MustCompile(`<(?:a|img|source)\b[^>]*\b(?:href|src|srcset)="([^"]+)"`)
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
		for _, target := range p.links() {
			if elsewhere(target) {
				continue
			}
			links++
			if wrong := follow(t, p, target); wrong != "" {
				t.Errorf("%s: %s: %s", p.name, target, wrong)
			}
		}
	}
	if links < 50 {
		t.Errorf("found %d links only", links)
	}
}

// links are what a page links to, pictures included.
func (p page) links() []string {
	var all []string
	prose := code.ReplaceAllString(p.prose, "")
	for _, form := range []*regexp.Regexp{link, tagged} {
		for _, m := range form.FindAllStringSubmatch(prose, -1) {
			all = append(all, m[1])
		}
	}
	return all
}

// elsewhere reports whether a link leaves the repository.
func elsewhere(target string) bool {
	return strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:")
}

// Links to other places are well formed. Whether they lead somewhere is not asked:
// a test must not depend on somebody else's server. With -v they are listed.
func TestLinksElsewhereAreWellFormed(t *testing.T) {
	t.Parallel()
	var all []string
	for _, p := range pages(t) {
		for _, target := range p.links() {
			if !elsewhere(target) {
				continue
			}
			all = append(all, target)
			if wrong := malformed(target); wrong != "" {
				t.Errorf("%s: %s: %s", p.name, target, wrong)
			}
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	if len(all) < 10 {
		t.Errorf("found %d links only", len(all))
	}
	t.Logf("%d links to other places, not followed:\n%s", len(all), strings.Join(all, "\n"))
}

// malformed says what is wrong with a link to another place; empty: nothing. A file
// at GitHub is linked at a commit: a branch goes on, and the page does not.
func malformed(target string) string {
	u, err := url.Parse(target)
	switch {
	case err != nil:
		return err.Error()
	case u.Scheme != "https":
		return "not https"
	case !strings.Contains(u.Hostname(), ".") || u.User != nil || u.Port() != "":
		return "no public host"
	case u.Hostname() == "github.com" && strings.Contains(u.Path, "/blob/") && !commitPath.MatchString(u.Path):
		return "a file is linked at a commit, not at a branch"
	}
	return ""
}

var commitPath = regexp.MustCompile(`^/[^/]+/[^/]+/blob/[0-9a-f]{40}/`)

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

// Code in the documentation is code that is run: each block stands in a program or
// an example, word for word. Three dots in a line of their own leave something out.
// Go is compiled here, but for the program in docs/clients, whose SDK is no
// dependency; what stands in docs/clients is run against a gateway when a page says so.
func TestCodeOnPagesIsRun(t *testing.T) {
	t.Parallel()
	for language, where := range map[string][]string{
		"go": {"examples/*/*.go", "*/example_test.go", "docs/clients/*.go"},
		"js": {"docs/clients/*.mjs"},
	} {
		sources := programs(t, where)
		shown := 0
		for _, p := range pages(t) {
			for _, block := range p.blocks[language] {
				for part := range strings.SplitSeq(unindented(block), "\n…\n") {
					shown++
					if !slices.ContainsFunc(sources, func(source string) bool { return strings.Contains(source, part) }) {
						t.Errorf("%s: this stands in no program:\n%s", p.name, part)
					}
				}
			}
		}
		if shown < 5 {
			t.Errorf("found %d pieces of %s only", shown, language)
		}
	}
}

// programs are the texts of the files of these patterns.
func programs(t *testing.T, patterns []string) []string {
	t.Helper()
	var all []string
	for _, pattern := range patterns {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			raw, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, unindented(string(raw)))
		}
	}
	return all
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
