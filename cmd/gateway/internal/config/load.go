package config

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Purpose says what the configuration is loaded for.
type Purpose int

// The purposes.
const (
	// ForServing needs everything.
	ForServing Purpose = iota + 1
	// ForTools needs no upstream: a dry run, a question to the admin plane.
	ForTools
)

// Input is what a configuration is made of.
type Input struct {
	Purpose Purpose
	// Name is the command, for usage texts.
	Name string
	// Args are the command's arguments without its name.
	Args []string
	// Environ is the environment, as os.Environ gives it.
	Environ []string
	// ReadFile reads the file of --config and the files that hold secrets.
	ReadFile func(name string) ([]byte, error)
}

// Loaded is a configuration and what came with it.
type Loaded struct {
	Config
	// Args are the arguments that are no flags.
	Args []string
	// Warnings are worth a line in the log, and nothing more.
	Warnings []string
	// Files are the names of the files that were read, or were to be, in order.
	Files []string

	sources sources
}

// UsageError says that the command line itself cannot be read: an unknown flag,
// or one without its value.
type UsageError struct{ Err error }

func (e *UsageError) Error() string { return e.Err.Error() }
func (e *UsageError) Unwrap() error { return e.Err }

// rank orders the sources, the stronger the higher.
type rank int

const (
	fromFile rank = iota + 1
	fromEnv
	fromFlag
)

// Load reads the configuration from all sources and checks it. It returns
// flag.ErrHelp where help was asked for, a *UsageError for a command line that
// cannot be read, and else all problems joined (see Problems). Loaded is as
// complete as could be in every case.
func Load(in Input) (Loaded, error) {
	out := Loaded{Config: Default()}
	flags, args, err := readFlags(in)
	if err != nil {
		return out, err
	}
	out.Args = args
	env, warnings := readEnviron(in.Environ)
	out.Warnings = warnings
	if _, ok := flags[pathAdminToken]; ok {
		out.Warnings = append(out.Warnings, "--admin-token is visible to other users of the machine: prefer FOLDGATE_ADMIN_TOKEN or admin_token_file")
	}

	out.sources = sources{}
	l := loader{Input: in, config: &out.Config, sources: out.sources}
	doc := l.openFile(strongest(pathConfig, flags, env))
	l.problems = append(l.problems, doc.problems...)
	l.files.routes = doc.routes
	maps.Copy(l.sources, doc.inside)
	for _, s := range table() {
		g, ok := pick(s.Name(), flags, env, doc.values)
		if ok {
			l.apply(s, g)
		}
	}
	l.resolve()
	out.Files = l.opened
	l.problems = append(l.problems, l.validate()...)
	return out, errors.Join(l.problems...)
}

type loader struct {
	Input
	config   *Config
	files    files
	sources  sources
	opened   []string // names of files
	problems []error
}

// sources say where each setting was set, by its name. What stands inside a
// setting, such as "summarizer.routes[0].url", has an entry where its place is
// known.
type sources map[string]given

// of is where key was set: its own place, else that of what it stands in.
func (s sources) of(key string) string {
	for {
		if g, ok := s[key]; ok {
			return g.source
		}
		i := strings.LastIndexAny(key, ".[")
		if i < 0 {
			return ""
		}
		key = key[:i]
	}
}

func (l *loader) add(key, got, want string) {
	l.problems = append(l.problems, &Problem{Key: key, Source: l.sources.of(key), Got: got, Want: want})
}

func (l *loader) openFile(name string) document {
	if name == "" {
		return document{}
	}
	content, err := l.read(name)
	if err != nil {
		l.add(pathConfig, strconv.Quote(name), "a file that can be read: "+cause(err))
		return document{}
	}
	if len(bytes.TrimSpace(content)) == 0 {
		// What is written over looks like that for a moment: a reload must not take
		// it for a wish that all settings, the admin plane's token too, be gone.
		l.add(pathConfig, strconv.Quote(name), "a file that holds settings; it is empty")
		return document{}
	}
	return readYAML(name, content)
}

// read reads a file and notes its name.
func (l *loader) read(name string) ([]byte, error) {
	if !slices.Contains(l.opened, name) {
		l.opened = append(l.opened, name)
	}
	return l.ReadFile(name)
}

// apply parses one setting, as the strongest source gave it.
func (l *loader) apply(s setting, g given) {
	l.sources[s.Name()] = g
	if s.Path == pathRoutes && g.rank == fromFile {
		return // read with the file; resolve takes them
	}
	if err := s.set(l.config, &l.files, g.values); err != nil {
		got, want := strconv.Quote(strings.Join(g.values, ", ")), s.Allowed
		var one *valueError
		if errors.As(err, &one) {
			got, want = strconv.Quote(one.value), want+": "+one.why
		}
		l.add(s.Name(), got, want)
	}
}

// readFlags collects what the flags say, as text.
func readFlags(in Input) (map[string]given, []string, error) {
	values := map[string]given{}
	set := flag.NewFlagSet(in.Name, flag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.Usage = func() {}
	for _, s := range table() {
		if s.Flag != "" {
			set.Var(&flagValue{setting: s, into: values}, s.Flag, s.Usage)
		}
	}
	args := in.Args
	var rest []string
	for {
		err := set.Parse(args)
		if errors.Is(err, flag.ErrHelp) {
			return nil, nil, flag.ErrHelp
		}
		if err != nil {
			return nil, nil, &UsageError{Err: err}
		}
		// A flag may follow an argument: fold request.json --window 8000.
		if set.NArg() == 0 {
			return values, rest, nil
		}
		rest, args = append(rest, set.Arg(0)), set.Args()[1:]
	}
}

// flagValue keeps what a flag said. It never refuses: all problems are reported
// together, later.
type flagValue struct {
	setting
	into map[string]given
}

func (f *flagValue) String() string   { return "" }
func (f *flagValue) IsBoolFlag() bool { return f.boolean }
func (f *flagValue) Set(text string) error {
	g := f.into[f.Name()]
	g.source, g.rank = "flag --"+f.Flag, fromFlag
	if !f.Repeats {
		g.values = nil
	}
	g.values = append(g.values, text)
	f.into[f.Name()] = g
	return nil
}

// forTests are variables of our prefix that belong to the tests.
func forTests(name string) bool {
	return name == "FOLDGATE_TESTDATA" || name == "FOLDGATE_REQUIRE_REDIS"
}

// readEnviron collects what the environment says, as text.
func readEnviron(environ []string) (values map[string]given, warnings []string) {
	byName := map[string]setting{}
	for _, s := range table() {
		if name := s.Env(); name != "" {
			byName[name] = s
		}
	}
	values = map[string]given{}
	for _, pair := range environ {
		name, text, _ := strings.Cut(pair, "=")
		if !strings.HasPrefix(name, envPrefix) || forTests(name) {
			continue
		}
		s, known := byName[name]
		if !known {
			warnings = append(warnings, "unknown environment variable "+name)
			continue
		}
		if text == "" {
			continue
		}
		g := given{values: []string{text}, source: name, rank: fromEnv}
		if s.Repeats {
			g.values = splitList(text)
		}
		values[s.Name()] = g
	}
	slices.Sort(warnings)
	return values, warnings
}

func splitList(text string) []string {
	var values []string
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			values = append(values, part)
		}
	}
	return values
}

// pick returns what the first source says that says anything.
func pick(id string, sources ...map[string]given) (given, bool) {
	for _, source := range sources {
		if g, ok := source[id]; ok {
			return g, true
		}
	}
	return given{}, false
}

func strongest(id string, sources ...map[string]given) string {
	g, _ := pick(id, sources...)
	return last(g.values)
}

// isSection reports whether settings stand below path.
func isSection(path string) bool {
	return path == "compression" || path == "summarizer"
}

// suggestion names the setting that was probably meant.
func suggestion(path string) string {
	name := strings.ReplaceAll(path[strings.LastIndex(path, ".")+1:], "-", "_")
	for _, s := range table() {
		if s.Path == "" {
			continue
		}
		if s.Path == name || strings.HasSuffix(s.Path, "."+name) || strings.ReplaceAll(s.Flag, "-", "_") == name {
			return fmt.Sprintf(" (%s?)", s.Path)
		}
	}
	return ""
}
