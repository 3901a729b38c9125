package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The configurations that the documentation shows are right ones.
func TestShownConfigurationsAreRight(t *testing.T) {
	t.Parallel()
	secrets := t.TempDir()
	for _, name := range []string{"foldgate-admin", "foldgate-tenant", "vllm-key"} {
		replaceFile(t, filepath.Join(secrets, name), "secret")
	}
	shown := map[string]string{
		"the example file":  readFile(t, "../../docs/foldgate.yaml"),
		"the practice file": readFile(t, "../../examples/standin/gateway.yaml"),
	}
	_, block, _ := strings.Cut(readFile(t, "../../README.md"), "```yaml\n")
	if block, _, _ = strings.Cut(block, "```"); block != "" {
		shown["README"] = block
	}
	for name, content := range shown {
		file := filepath.Join(t.TempDir(), "foldgate.yaml")
		replaceFile(t, file, strings.ReplaceAll(content, "/run/secrets", secrets))
		check := launch(t, []string{"VLLM_KEY=secret"}, "check", "--config", file)
		<-check.ended
		if log := check.log.String(); check.code != exitOK || log != "" {
			t.Errorf("%s: exit code %d: %s", name, check.code, log)
		}
	}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
