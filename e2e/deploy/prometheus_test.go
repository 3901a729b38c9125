package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// promtool of the machine's Prometheus reads the configuration with its rules, and
// runs testdata/alerts_test.yaml: each alert fires when it should, and not before.
func TestPromtool(t *testing.T) {
	t.Parallel()
	promtool := tool(t, "promtool", "prometheus")
	dir := t.TempDir()
	for name, text := range map[string]string{
		"prometheus.yml":  strings.Replace(read(t, "deploy/prometheus/prometheus.yml"), "/run/secrets/", dir+"/", 1),
		"alerts.yaml":     read(t, "docs/alerts.yaml"),
		"alerts_test.yml": read(t, "e2e/deploy/testdata/alerts_test.yaml"),
		"admin-token":     "token",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) string {
		cmd := exec.Command(promtool, args...)
		cmd.Dir = dir
		return output(t, cmd)
	}
	if said := run("check", "config", "--lint=all", "--lint-fatal", "prometheus.yml"); !strings.Contains(said, "5 rules found") {
		t.Errorf("promtool check config: %s", said)
	}
	run("check", "rules", "--lint=all", "--lint-fatal", "alerts.yaml")
	run("test", "rules", "alerts_test.yml")
	for _, a := range alerts(t) {
		if n := strings.Count(read(t, "e2e/deploy/testdata/alerts_test.yaml"), "alertname: "+a.Alert+"\n"); n < 2 {
			t.Errorf("%s is tested %d times, want once silent and once firing", a.Alert, n)
		}
		if a.Annotations["summary"] == "" || a.Labels["severity"] == "" || !strings.Contains(read(t, "docs/operating.md"), "`"+a.Alert+"`") {
			t.Errorf("%s says too little, or docs/operating.md nothing of it", a.Alert)
		}
	}
}
