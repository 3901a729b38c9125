package middleware_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/foldgate/foldgate/compression/window"
	"github.com/foldgate/foldgate/internal/backendtest"
)

// Requests of Azure's deployments need not name a model. What one deployment
// taught was held against all others of the resource, since all had one name.
func TestDeploymentsHaveWindowsOfTheirOwn(t *testing.T) {
	b := backendtest.All()[1]
	x := inFrontOf(t, b, backendWindow, nil)
	body := b.Conversation(overfull, false)
	if a := x.through(t, body); a.status != http.StatusOK || sourceOf(a) != "learned" {
		t.Fatalf("%d %s, %s", a.status, foldOf(a), a.header.Get("Foldgate-Tokens"))
	}
	other := strings.Replace(b.Path, "house-deployment", "another-one", 1)
	a := x.do(t, x.url, http.MethodPost, other, backendtest.Secret, body)
	if foldOf(a) != `none; reason="unknown-window"` || !strings.Contains(string(a.body), "DeploymentNotFound") {
		t.Errorf("another deployment: %d %s, %s", a.status, foldOf(a), a.header.Get("Foldgate-Tokens"))
	}
}

// The name of a deployment is what the windows of the configuration are told by,
// unless the body names a model.
func TestDeploymentIsTheModelOfWindows(t *testing.T) {
	b := backendtest.All()[1]
	x := inFrontOf(t, b, 0, func(o *options) {
		o.window = window.BookConfig{Rules: []window.Rule{{Glob: "house-*", Total: 5000}, {Glob: "named", Total: 7000}}}
	})
	for path, want := range map[string]string{
		b.Path:                            "window=5000,",
		"/deployments/a/chat/completions": "source=unknown",
		"/openai/deployments/a/extra/chat/completions":               "source=unknown",
		"/proxy/deployments/x/deployments/house-2/chat/completions":  "window=5000,",
		"/openai/deployments/house-a%20b/chat/completions?x=%zz&y=1": "window=5000,",
	} {
		if a := x.do(t, x.url, http.MethodPost, path, backendtest.Secret, b.Small()); !strings.Contains(a.header.Get("Foldgate-Tokens"), want) {
			t.Errorf("%s: %s, want %s", path, a.header.Get("Foldgate-Tokens"), want)
		}
	}
	if a := x.through(t, b.Small("model", "named")); !strings.Contains(a.header.Get("Foldgate-Tokens"), "window=7000,") {
		t.Errorf("with a model: %s", a.header.Get("Foldgate-Tokens"))
	}
}
