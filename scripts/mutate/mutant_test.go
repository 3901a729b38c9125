package main

import (
	"slices"
	"strings"
	"testing"
)

func TestMutants(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		want       []string // condition -> mutation: the line as it reads then
	}{
		{"a condition", "if a then b() end", []string{
			"a -> true: if true then b() end",
			"a -> false: if false then b() end",
		}},
		{"operands", "if a ~= '' and f(b, c) then return end", []string{
			"a ~= '' and f(b, c) -> true: if true then return end",
			"a ~= '' and f(b, c) -> false: if false then return end",
			"a ~= '' and f(b, c) -> without a ~= '': if true and f(b, c) then return end",
			"a ~= '' and f(b, c) -> without f(b, c): if a ~= '' and true then return end",
		}},
		{"or binds less than and, at any depth", "if x then elseif not (a or b and c) then end", []string{
			"x -> true: if true then elseif not (a or b and c) then end",
			"x -> false: if false then elseif not (a or b and c) then end",
			"not (a or b and c) -> true: if x then elseif true then end",
			"not (a or b and c) -> false: if x then elseif false then end",
			"not (a or b and c) -> without a: if x then elseif not (false or b and c) then end",
			"not (a or b and c) -> without b and c: if x then elseif not (a or false) then end",
			"not (a or b and c) -> without b: if x then elseif not (a or true and c) then end",
			"not (a or b and c) -> without c: if x then elseif not (a or b and true) then end",
		}},
		{"operands that read alike", "if a or a then end", []string{
			"a or a -> true: if true then end",
			"a or a -> false: if false then end",
			"a or a -> without a: if false or a then end",
			"a or a -> without a #2: if a or false then end",
		}},
		{"a loop never becomes endless", "while #list > 4 do g() end", []string{
			"#list > 4 -> false: while false do g() end",
		}},
		{"comparisons in values", "local x = a == b and 'y' or 'n'", []string{
			"a == b -> true: local x = true and 'y' or 'n'",
			"a == b -> false: local x = false and 'y' or 'n'",
		}},
		{"a value ends where the next statement begins", "local x = #a >= n.m\ny = f(1)", []string{
			"#a >= n.m -> true: local x = true\ny = f(1)",
			"#a >= n.m -> false: local x = false\ny = f(1)",
		}},
		{"arguments and tables", "f(a < b, {c ~= nil, [d] = e})", []string{
			"a < b -> true: f(true, {c ~= nil, [d] = e})",
			"a < b -> false: f(false, {c ~= nil, [d] = e})",
			"c ~= nil -> true: f(a < b, {true, [d] = e})",
			"c ~= nil -> false: f(a < b, {false, [d] = e})",
		}},
		{"arithmetic belongs to the comparison", "return a - (b + 1) > c[i].d * 2", []string{
			"a - (b + 1) > c[i].d * 2 -> true: return true",
			"a - (b + 1) > c[i].d * 2 -> false: return false",
		}},
		{"checks are called, not defined", "local function is_x(s) return #s == 1 end\nf('s', is_x(s))", []string{
			"#s == 1 -> true: local function is_x(s) return true end\nf('s', is_x(s))",
			"#s == 1 -> false: local function is_x(s) return false end\nf('s', is_x(s))",
			"is_x(s) -> true: local function is_x(s) return #s == 1 end\nf('s', true)",
			"is_x(s) -> false: local function is_x(s) return #s == 1 end\nf('s', false)",
		}},
		{"what reads alike is counted", "if a then end if a then end", []string{
			"a -> true: if true then end if a then end",
			"a -> false: if false then end if a then end",
			"a #2 -> true: if a then end if true then end",
			"a #2 -> false: if a then end if false then end",
		}},
		{"strings and comments hold no code", "-- if a == b then\nlocal s = 'if a == b' .. \"\\\"<\" .. [==[ > ]==] -- x < y", nil},
		{"one equal sign assigns", "a = b", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			found, err := mutantsOf(script{name: "f.lua", text: tt.text})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, m := range found {
				got = append(got, m.Condition+" -> "+m.Mutation+": "+m.text)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
			}
		})
	}
}

func TestMutantsSayWhere(t *testing.T) {
	t.Parallel()
	found, err := mutantsOf(script{name: "f.lua", text: "-- head\nlocal s = [[\n\n]]\nif a\nthen return b ==\n c end"})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 4 || found[0].Line != 5 || found[2].Line != 6 || found[2].Condition != "b == c" || found[2].File != "f.lua" {
		t.Errorf("found %+v", found)
	}
}

func TestWhatIsNotUnderstood(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"local s = 'x", "local s = \"x\ny\"", "s = [[x", "s = [=[ x ]]", "--[[ if a then ]]", "if a", "if f(function() end) then end", "s = '\\",
	} {
		if found, err := mutantsOf(script{text: text}); err == nil {
			t.Errorf("%q: %+v, want an error", text, found)
		}
	}
}

// Nothing that an editor may leave behind makes it fail otherwise than by an error.
func FuzzMutants(f *testing.F) {
	for _, seed := range []string{"if a == b or (c and not d) then e() end", "x = [==[", "'\\", "while", "if if then", "a == ", "== b", ")(<", "is_(", "if then"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		found, err := mutantsOf(script{text: text})
		for _, m := range found {
			if err == nil && m.text == "" {
				t.Errorf("%q: a mutant without text", text)
			}
		}
	})
}
