package redact

import "strings"

// template reports whether a value stands for one that is put in elsewhere, or
// was made unreadable already.
func template(v string) bool {
	switch v[0] {
	case '<', '{', '[', '(':
		return true
	case '$':
		if len(v) == 1 || v[1] == '{' || v[1] == '(' || v[1] == '$' || count(v[1:], word) == len(v)-1 {
			return true
		}
	case '%':
		if v[len(v)-1] == '%' || len(v) > 1 && strings.IndexByte("s(dvq{", v[1]) >= 0 {
			return true
		}
	}
	for _, mark := range [...]string{Mark, "${", "$(", "{{", "<%", "...", "…", "***", "•••", "xxx", "XXX", "REDACTED", "redacted"} {
		if strings.Contains(v, mark) {
			return true
		}
	}
	return strings.Count(v, v[:1]) == len(v)
}

// address: a URL is no secret; what is secret in it is found by itself.
func address(v string) bool { return strings.Contains(v, "://") }

// keyword reports whether a value is a type's name, says that there is no value,
// or tells the reader to put one in.
func keyword(v string) bool {
	var buf [24]byte
	if len(v) > len(buf) {
		return false
	}
	for i := range len(v) {
		buf[i] = lower(v[i])
	}
	w := string(buf[:len(v)])
	for _, begin := range [...]string{"your", "replace", "insert", "changeme", "change_me", "change-me", "placeholder", "example", "enter_", "enter-", "my-", "my_"} {
		if strings.HasPrefix(w, begin) {
			return true
		}
	}
	switch w {
	case "string", "str", "text", "number", "int", "integer", "float", "bool", "boolean", "object", "array", "list",
		"any", "bytes", "byte", "binary", "char", "varchar", "uuid", "date", "datetime", "file", "enum", "map", "blob",
		"password", "passwd", "pwd", "secret", "token", "key", "apikey", "api_key", "api-key", "credentials",
		"null", "nil", "none", "undefined", "unset", "empty", "missing", "n/a", "nan", "void", "default",
		"true", "false", "yes", "no", "on", "off", "enabled", "disabled", "set", "present", "optional", "required",
		"valid", "invalid", "incorrect", "correct", "wrong", "expired", "changed", "accepted", "rejected", "failed",
		"success", "hidden", "masked", "redacted", "removed", "encrypted", "plaintext", "hashed", "sensitive", "private",
		"unknown", "stdin", "prompt", "env", "environment", "field", "value", "name", "user", "username", "admin-password",
		"and", "are", "as", "at", "for", "from", "has", "have", "if", "in", "is", "it", "its", "must", "not", "of", "or",
		"should", "that", "the", "this", "to", "was", "which", "will", "with", "when", "flag", "flags", "option", "options", "argument", "compat", "files",
		"parameter", "bearer", "basic", "digest", "oauth", "oauth2", "new", "await", "async", "function", "return",
		"const", "let", "var", "self", "super", "lambda", "optional[str]", "secretstr", "before", "after", "reset",
		"login", "generate", "generated", "ignored", "provided", "manager", "against", "strength", "policy":
		return true
	}
	return false
}

// code reports whether a value without quotes is an expression: a call, an
// index, a member, an operator.
func code(v string) bool {
	v = strings.TrimLeft(v, "&*!")
	end := pathEnd(v)
	if end > 0 && end < len(v) && (v[end] == '(' || v[end] == '[' || v[end] == '{') {
		return true
	}
	for _, operator := range [...]string{"||", "&&", "=>", "==", "->", "::", "??"} {
		if strings.Contains(strings.TrimRight(v, "="), operator) {
			return true
		}
	}
	if end != len(v) || !strings.Contains(v, ".") {
		return false
	}
	return !noisy(v) || stem(v)
}

// pathEnd is the end of the identifiers joined by dots that v begins with.
func pathEnd(v string) int {
	i := 0
	for i < len(v) && class[v[i]]&(alpha|underscore) != 0 {
		i = span(v, i, word, forever)
		if i+1 < len(v) && v[i] == '.' && class[v[i+1]]&(alpha|underscore) != 0 {
			i++
			continue
		}
		break
	}
	return i
}
