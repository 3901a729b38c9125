package middleware

import (
	"net/url"
	"strings"
)

// deploymentOf is the model that a path names instead of the body, as Azure
// OpenAI's does: …/deployments/{name}/chat/completions. Empty: none. Without it
// all deployments behind one address would be one model, and what one of them
// taught would be held against the others.
func deploymentOf(u *url.URL) string {
	path, ok := strings.CutSuffix(u.Path, chatPath)
	if !ok {
		return ""
	}
	_, name, ok := cutLast(path, "/deployments/")
	if !ok || strings.Contains(name, "/") {
		return ""
	}
	return name
}

// cutLast is strings.Cut at the last separator.
func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}
