package main

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

func TestAdminHosts(t *testing.T) {
	t.Parallel()
	configured := []string{"gate.internal"}
	for listen, want := range map[string]string{
		"127.0.0.1:9090":   "127.0.0.1 gate.internal",
		"[::1]:9090":       "::1 gate.internal",
		"admin.local:9090": "admin.local gate.internal",
		"0.0.0.0:9090":     "0.0.0.0 127.0.0.1 ::1 gate.internal",
		"[::]:9090":        ":: 127.0.0.1 ::1 gate.internal",
		":9090":            " 127.0.0.1 ::1 gate.internal",
		"nonsense":         "gate.internal",
	} {
		if got := strings.Join(adminHosts(listen, configured), " "); got != want {
			t.Errorf("%s: got %q, want %q", listen, got, want)
		}
	}
	if !slices.Equal(configured, []string{"gate.internal"}) {
		t.Errorf("the configured ones became %q", configured)
	}
}

// The audit goes to the program's log, and the token does not.
func TestChangesAreAudited(t *testing.T) {
	t.Parallel()
	const key = "0123456789abcdef0123456789abcdef01234567"
	up := newUpstream(t, "ok")
	g := start(t, []string{"FOLDGATE_ADMIN_TOKEN=planted-token"}, "--upstream", up.URL, "--default-window", "8000")
	if got := g.send(http.MethodDelete, g.admin+"/v1/conversations/"+key, "", "Authorization", "Bearer planted-token"); got.status != http.StatusNoContent {
		t.Errorf("got %d %s", got.status, got.body)
	}
	line := g.log.wait(t, "admin audit", g.ended)
	if line["operation"] != "forget" || line["outcome"] != "done" || line["token"] != true || line["conversation"] != key || line["level"] != "INFO" {
		t.Errorf("the line is %v", line)
	}
	if strings.Contains(g.log.String(), "planted-token") {
		t.Errorf("the token is in the log:\n%s", g.log)
	}
}
