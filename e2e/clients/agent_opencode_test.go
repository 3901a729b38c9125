//go:build opencode

package clients

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// opencode takes long to start and is large, so it is driven on its own: make
// test-clients-opencode.
func TestOpencode(t *testing.T) {
	needInstalled(t)
	name := "opencode-" + runtime.GOOS + "-" + machine()
	agentClient{
		name: "opencode", version: versionOf(t, name), window: 20_000, patience: 6 * time.Minute, tools: opencodeTools,
		command: func(ctx context.Context, t *testing.T, home, baseURL string) *exec.Cmd {
			config, err := json.Marshal(map[string]any{
				"autoupdate": false, "share": "disabled", "snapshot": false, "lsp": false, "formatter": false,
				"compaction": map[string]any{"auto": false, "prune": false},
				"permission": map[string]any{"edit": "allow", "bash": "allow", "read": "allow", "external_directory": "allow"},
				"provider": map[string]any{"tested": map[string]any{
					"npm": "@ai-sdk/openai-compatible", "name": "tested", "options": map[string]any{"baseURL": baseURL, "apiKey": apiKey},
					"models": map[string]any{smallModel: map[string]any{"limit": map[string]any{"context": 1_000_000, "output": 4096}}},
				}},
			})
			if err != nil {
				t.Fatal(err)
			}
			c := exec.CommandContext(ctx, filepath.Join(installed, "node_modules", name, "bin", "opencode"),
				"run", "--pure", "--auto", "--format", "json", "--title", "harbours", "--model", "tested/"+smallModel, taskText)
			c.Env = []string{
				"HOME=" + home, "PATH=" + os.Getenv("PATH"), "OPENCODE_CONFIG_CONTENT=" + string(config),
				"XDG_DATA_HOME=" + filepath.Join(home, "data"), "XDG_CONFIG_HOME=" + filepath.Join(home, "config"),
				"XDG_CACHE_HOME=" + filepath.Join(home, "cache"), "XDG_STATE_HOME=" + filepath.Join(home, "state"),
				"OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1",
			}
			return c
		},
		history: func(t *testing.T, home string) string {
			var all strings.Builder
			err := filepath.WalkDir(filepath.Join(home, "data"), func(name string, d os.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				raw, err := os.ReadFile(name)
				all.Write(raw)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			return all.String()
		},
	}.test(t)
}
