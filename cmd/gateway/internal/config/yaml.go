package config

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// document is a YAML file taken apart: text by path, as the other sources give
// it, so that one set of parsers reads all of them.
type document struct {
	name     string
	values   map[string]given
	inside   sources // places of what stands inside a value
	routes   []Route
	problems []error
	anchors  map[string]ast.Node
}

// given is a setting's value or values and where they stand.
type given struct {
	values []string
	source string
	rank   rank
}

// readYAML takes a file apart. It never fails as a whole: what it could not
// read is in the document's problems.
func readYAML(name string, content []byte) document {
	d := document{name: name, values: map[string]given{}, inside: sources{}, anchors: map[string]ast.Node{}}
	if tooDeep(content) {
		d.problem(pathConfig, nil, "nested too deeply", "YAML as docs/foldgate.yaml shows it")
		return d
	}
	// Duplicate keys are looked for below, together with all other problems.
	f, err := parser.ParseBytes(content, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		d.syntax(err)
		return d
	}
	if len(f.Docs) > 1 {
		d.problem(pathConfig, f.Docs[1].Body, "more than one document", "one YAML document")
	}
	if len(f.Docs) == 0 || f.Docs[0].Body == nil {
		return d
	}
	ast.Walk(anchorCollector(d.anchors), f.Docs[0].Body)
	d.mapping("", f.Docs[0].Body)
	return d
}

// deepest is how many collections may be open in one another: settings need four.
// The parser takes memory by the square of it.
const deepest = 64

// tooDeep reports whether content opens more collections in one another than any
// settings need. Brackets inside texts count too, which no file that is meant
// comes near.
func tooDeep(content []byte) bool {
	open := 0
	for line := range bytes.Lines(content) {
		lead := bytes.TrimLeft(line, " \t")
		dashes := bytes.Count(line[:len(line)-len(bytes.TrimLeft(lead, "- ?"))], []byte("-"))
		if dashes > deepest || len(line)-len(lead) > 4*deepest {
			return true
		}
		for _, c := range lead {
			switch c {
			case '[', '{':
				open++
			case ']', '}':
				open = max(0, open-1)
			}
			if open > deepest {
				return true
			}
		}
	}
	return false
}

// anchorCollector remembers what each anchor names.
type anchorCollector map[string]ast.Node

func (a anchorCollector) Visit(n ast.Node) ast.Visitor {
	if anchor, ok := n.(*ast.AnchorNode); ok && anchor.Name != nil {
		a[anchor.Name.GetToken().Value] = anchor.Value
	}
	return a
}

// syntax reports an unreadable file. Only the message and the line are told:
// the parser's own report quotes the file, which may hold secrets.
func (d *document) syntax(err error) {
	p := &Problem{Key: pathConfig, Source: d.name, Want: "valid YAML"}
	var bad *yaml.SyntaxError
	if errors.As(err, &bad) && bad.Token != nil && bad.Token.Position != nil {
		p.Source = fmt.Sprintf("%s:%d", d.name, bad.Token.Position.Line)
		p.Want = "valid YAML: " + bad.Message
	}
	d.problems = append(d.problems, p)
}

// mapping reads the settings of one level.
func (d *document) mapping(prefix string, n ast.Node) {
	entries, ok := d.entries(n)
	if !ok {
		key := strings.TrimSuffix(prefix, ".")
		if key == "" {
			key = pathConfig
		}
		d.problem(key, n, kind(n), "a mapping of settings")
		return
	}
	seen := map[string]bool{}
	for _, e := range entries {
		path := prefix + e.key
		if seen[path] {
			d.problem(path, e.node, "it twice", "each key once")
			continue
		}
		seen[path] = true
		d.setting(path, e)
	}
}

func (d *document) setting(path string, e entry) {
	value := d.unwrap(e.value)
	if isSection(path) {
		if !isNull(value) {
			d.mapping(path+".", value)
		}
		return
	}
	s, known := settingNamed(path)
	if !known || s.Path == "" {
		d.problem(path, e.node, "an unknown key", "a known one"+suggestion(path))
		return
	}
	if isNull(value) {
		return // the key with nothing behind it: not set
	}
	switch {
	case path == pathRoutes:
		d.readRoutes(value)
	case path == pathWindows:
		d.windows(value)
	case s.Repeats:
		d.list(path, value)
	default:
		text, ok := scalar(value)
		if !ok {
			d.problem(path, value, kind(value), "a single value")
			return
		}
		d.give(path, value, text)
	}
}

func (d *document) list(path string, n ast.Node) {
	var values []string
	seq, ok := n.(*ast.SequenceNode)
	if !ok {
		d.problem(path, n, kind(n), "a list")
		return
	}
	for _, item := range seq.Values {
		text, ok := scalar(d.unwrap(item))
		if !ok {
			d.problem(path, item, kind(d.unwrap(item)), "a list of single values")
			return
		}
		values = append(values, text)
	}
	d.give(path, n, values...)
}

// windows turns the map of globs into what the flag would have said.
func (d *document) windows(n ast.Node) {
	entries, ok := d.entries(n)
	if !ok {
		d.problem(pathWindows, n, kind(n), "a map of glob: TOTAL[/INPUT]")
		return
	}
	var values []string
	seen := map[string]bool{}
	for _, e := range entries {
		text, ok := scalar(d.unwrap(e.value))
		switch {
		case !ok:
			d.problem(pathWindows+"."+e.key, e.node, kind(d.unwrap(e.value)), "TOTAL[/INPUT] in tokens")
		case seen[e.key]:
			d.problem(pathWindows+"."+e.key, e.node, "it twice", "each glob once")
		default:
			values = append(values, e.key+"="+text)
		}
		seen[e.key] = true
	}
	d.give(pathWindows, n, values...)
}

func (d *document) give(path string, n ast.Node, values ...string) {
	d.values[path] = given{values: values, source: d.at(n), rank: fromFile}
}

func (d *document) problem(key string, n ast.Node, got, want string) {
	d.problems = append(d.problems, &Problem{Key: key, Source: d.at(n), Got: got, Want: want})
}

func (d *document) at(n ast.Node) string {
	if n == nil || n.GetToken() == nil || n.GetToken().Position == nil {
		return d.name
	}
	return fmt.Sprintf("%s:%d", d.name, n.GetToken().Position.Line)
}

// entry is one pair of a mapping.
type entry struct {
	key   string
	node  ast.Node // the key, for its line
	value ast.Node
}

func (d *document) entries(n ast.Node) ([]entry, bool) {
	m, ok := d.unwrap(n).(ast.MapNode)
	if !ok {
		return nil, false
	}
	var all []entry
	for it := m.MapRange(); it.Next(); {
		key := it.Key()
		all = append(all, entry{key: key.GetToken().Value, node: key, value: it.Value()})
	}
	return all, true
}

// unwrap looks through anchors, aliases and tags. The bound ends an alias that
// names itself.
func (d *document) unwrap(n ast.Node) ast.Node {
	for range 16 {
		switch x := n.(type) {
		case *ast.AnchorNode:
			n = x.Value
		case *ast.TagNode:
			n = x.Value
		case *ast.AliasNode:
			n = d.anchors[x.Value.GetToken().Value]
		default:
			return n
		}
	}
	return nil
}

// scalar is the text of a single value as it is spelt in the file.
func scalar(n ast.Node) (string, bool) {
	switch x := n.(type) {
	case *ast.StringNode:
		return x.Value, true
	case *ast.LiteralNode:
		return strings.TrimRight(x.Value.Value, "\n"), true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value, true
	}
	return "", false
}

func isNull(n ast.Node) bool {
	if n == nil {
		return true
	}
	_, null := n.(*ast.NullNode)
	return null
}

// kind names what a node is, without its content.
func kind(n ast.Node) string {
	switch n.(type) {
	case nil, *ast.NullNode:
		return "nothing"
	case *ast.SequenceNode:
		return "a list"
	case ast.MapNode:
		return "a mapping"
	}
	return "a single value"
}
