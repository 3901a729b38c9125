package foldgate_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/foldgate/foldgate/"

// rule is one direction of section 2 of docs/design.md.
type rule struct {
	name string
	// in tells the folders that the rule is about, by their path in the module.
	in func(folder string) bool
	// allows tells the imports that are right there.
	allows func(imported string) bool
}

func rules() []rule {
	return []rule{
		{
			name: "ownership: the standard library, uuid, the otel API and its names; no HTTP",
			in:   func(f string) bool { return under(f, "ownership") && !isTestFolder(f) },
			allows: func(i string) bool {
				return standard(i) && !under(i, "net") || i == "github.com/google/uuid" || otelAPI(i) || under(i, module+"ownership") || i == module+"internal/semconv"
			},
		},
		{
			name: "compression: no HTTP server, no store, no clock's owner",
			in:   func(f string) bool { return under(f, "compression") && f != "compression/llm" },
			allows: func(i string) bool {
				return !under(i, "net/http") && !knowsStores(i) && ours(i, "compression")
			},
		},
		{
			name: "compression/llm: HTTP, and no store",
			in:   func(f string) bool { return f == "compression/llm" },
			allows: func(i string) bool {
				return !knowsStores(i) && ours(i, "compression")
			},
		},
		{
			name:   "redisstore: ownership only",
			in:     func(f string) bool { return under(f, "redisstore") },
			allows: func(i string) bool { return ours(i, "redisstore", "ownership") },
		},
		{
			name: "middleware: compression, ownership and what is internal to both",
			in:   func(f string) bool { return under(f, "middleware") },
			allows: func(i string) bool {
				return !knowsStores(i) && !otelSDK(i) && ours(i, "middleware", "compression", "ownership", "internal")
			},
		},
		{
			name:   "internal/semconv: names, and nothing that does anything",
			in:     func(f string) bool { return f == "internal/semconv" },
			allows: func(i string) bool { return i == "strings" || i == "go.opentelemetry.io/otel/attribute" },
		},
		{
			name: "production code: nothing that is for tests",
			in:   func(f string) bool { return !isTestFolder(f) && !under(f, "scripts") },
			allows: func(i string) bool {
				return !under(i, "testing") && i != "net/http/httptest" && (!strings.HasPrefix(i, module) || !isTestFolder(i))
			},
		},
		{
			name:   "nobody: the program",
			in:     func(f string) bool { return !under(f, "cmd/gateway") },
			allows: func(i string) bool { return !under(i, module+"cmd") },
		},
	}
}

func TestImportsPointOneWay(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for folder, imports := range importsOf(t) {
		for _, r := range rules() {
			if !r.in(folder) {
				continue
			}
			seen[r.name] = true
			for _, i := range imports {
				if !r.allows(i) {
					t.Errorf("%s imports %s, against %q", folder, i, r.name)
				}
			}
		}
	}
	for _, r := range rules() {
		if !seen[r.name] {
			t.Errorf("no package falls under %q: the rule tests nothing", r.name)
		}
	}
}

// A rule that never refuses would pass for ever.
func TestImportRulesRefuse(t *testing.T) {
	t.Parallel()
	breaches := []struct{ folder, imported string }{
		{"ownership", "net/http"},
		{"ownership", "github.com/redis/go-redis/v9"},
		{"ownership", "go.opentelemetry.io/otel/sdk/metric"},
		{"ownership/memstore", module + "compression"},
		{"ownership", module + "internal/statuswriter"},
		{"internal/semconv", "go.opentelemetry.io/otel/trace"},
		{"middleware", "go.opentelemetry.io/otel/sdk/trace"},
		{"compression", "net/http"},
		{"compression/chat", module + "ownership"},
		{"compression/llm", "github.com/redis/go-redis/v9"},
		{"compression/llm", module + "middleware"},
		{"redisstore", module + "middleware"},
		{"redisstore", module + "compression/window"},
		{"middleware", module + "redisstore"},
		{"middleware", module + "cmd/gateway/internal/config"},
		{"middleware", "testing"},
		{"redisstore", module + "redisstore/redistest"},
		{"cmd/gateway/internal/demo", "net/http/httptest"},
		{"ownership/memstore", module + "ownership/ownershiptest"},
	}
	for _, b := range breaches {
		refused := slices.ContainsFunc(rules(), func(r rule) bool { return r.in(b.folder) && !r.allows(b.imported) })
		if !refused {
			t.Errorf("%s may import %s", b.folder, b.imported)
		}
	}
}

// Time passes by itself only in a synctest bubble. Elsewhere a sleep is a guess
// that is too short on some machine, and production code waits for something. Who
// measures or loads for a while waits until it is over: timed names those programs.
func TestNobodySleeps(t *testing.T) {
	t.Parallel()
	files := 0
	walk(t, func(name string, f *ast.File) {
		files++
		bubble := slices.ContainsFunc(f.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"testing/synctest"` })
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.SelectorExpr)
			if !ok || call.Sel.Name != "Sleep" {
				return true
			}
			timed := strings.HasPrefix(name, "scripts/benchpeers/") || strings.HasPrefix(name, "e2e/chaos/") && !strings.HasSuffix(name, "_test.go")
			if pkg, ok := call.X.(*ast.Ident); ok && pkg.Name == "time" && !bubble && !timed {
				t.Errorf("%s sleeps", name)
			}
			return true
		})
	})
	if files < 50 {
		t.Errorf("only %d files were looked at", files)
	}
}

// importsOf reads what the production code of each folder imports.
func importsOf(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	walk(t, func(name string, f *ast.File) {
		if strings.HasSuffix(name, "_test.go") {
			return
		}
		folder := path.Dir(filepath.ToSlash(name))
		for _, i := range f.Imports {
			imported, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			all[folder] = append(all[folder], imported)
		}
	})
	for folder := range all {
		slices.Sort(all[folder])
		all[folder] = slices.Compact(all[folder])
	}
	return all
}

// walk parses every Go file of the module.
func walk(t *testing.T, visit func(name string, f *ast.File)) {
	t.Helper()
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go"):
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		visit(name, f)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func under(p, parent string) bool { return p == parent || strings.HasPrefix(p, parent+"/") }

// isTestFolder reports whether a package is for tests only: its name, or that of
// a folder around it, ends so.
func isTestFolder(p string) bool {
	for name := range strings.SplitSeq(p, "/") {
		if strings.HasSuffix(name, "test") {
			return true
		}
	}
	return false
}

// standard reports whether an import is the standard library's: its first
// element has no dot.
func standard(i string) bool {
	first, _, _ := strings.Cut(i, "/")
	return !strings.Contains(first, ".")
}

func otelAPI(i string) bool { return under(i, "go.opentelemetry.io/otel") && !otelSDK(i) }

// otelSDK is what makes and exports telemetry, which is the program's business.
func otelSDK(i string) bool {
	return under(i, "go.opentelemetry.io/otel/sdk") || under(i, "go.opentelemetry.io/otel/exporters") || under(i, "go.opentelemetry.io/contrib")
}

func knowsStores(i string) bool { return under(i, "github.com/redis/go-redis") }

// ours reports whether an import is none of this module's, or under one of the
// given folders.
func ours(i string, folders ...string) bool {
	if !under(i, strings.TrimSuffix(module, "/")) {
		return true
	}
	return slices.ContainsFunc(folders, func(f string) bool { return under(i, module+f) })
}
