package window_test

import (
	"strings"
	"testing"

	"github.com/foldgate/foldgate/compression/window"
)

func TestLookupTable(t *testing.T) {
	b := book(t, window.BookConfig{})
	for _, tc := range []struct {
		model                string
		total, input, output window.Tokens
	}{
		{"gpt-4o", 128000, 0, 16384},
		{"GPT-4o", 128000, 0, 16384},
		{"openai/gpt-4o", 128000, 0, 16384},
		{"openrouter/openai/gpt-4o:extended", 128000, 0, 16384},
		{"gpt-4o-2024-08-06", 128000, 0, 16384},
		{"gpt-4o-2024-05-13", 128000, 0, 4096},
		{"gpt-4o-mini-2024-07-18", 128000, 0, 16384},
		{"gpt-4o-search-preview", 128000, 0, 16384},
		{"gpt-4", 8192, 0, 8192},
		{"gpt-4-0613", 8192, 0, 8192},
		{"gpt-4-1106-preview", 128000, 0, 4096},
		{"gpt-4-turbo-preview", 128000, 0, 4096},
		{"gpt-4.1-nano-2025-04-14", 1047576, 0, 32768},
		{"gpt-5", 400000, 272000, 128000},
		{"gpt-5-mini-2025-08-07", 400000, 272000, 128000},
		{"gpt-5-chat-latest", 128000, 0, 16384},
		{"gpt-5.1-codex-max", 400000, 272000, 128000},
		{"gpt-5.4", 1050000, 922000, 128000},
		{"gpt-5.4-mini-2026-03-17", 400000, 272000, 128000},
		{"o1-2024-12-17", 200000, 0, 100000},
		{"o3-mini-high", 200000, 0, 100000},
		{"openai/gpt-oss-120b:free", 131072, 0, 0},
		{"claude-3-5-sonnet-20241022", 200000, 0, 8192},
		{"claude-3-5-sonnet-latest", 200000, 0, 8192},
		{"claude-3-5-sonnet-v2@20241022", 200000, 0, 8192},
		{"us.anthropic.claude-sonnet-4-5-20250929-v1:0", 200000, 0, 64000},
		{"anthropic/claude-3.7-sonnet:thinking", 200000, 0, 64000},
		{"claude-opus-4-1-20250805", 200000, 0, 32000},
		{"claude-opus-4-6-20260205", 1000000, 0, 128000},
		{"models/gemini-1.5-pro-002", 1000000, 0, 8192},
		{"google/gemini-2.5-flash", 1048576, 0, 65536},
		{"gemini-2.5-flash-lite-preview-09-2025", 1048576, 0, 65536},
		{"deepseek-chat", 1000000, 0, 384000},
		{"mistral-large-2411", 131072, 0, 16384},
		{"mistral-large-latest", 262144, 0, 0},
		{"meta-llama/Llama-3.3-70B-Instruct", 131072, 0, 0},
		{"meta-llama/Meta-Llama-3.1-8B-Instruct-Turbo", 131072, 0, 0},
		{"llama-3.1-8b-instant", 131072, 0, 0},
		{"moonshotai/kimi-k2", 131072, 0, 0},
		{"kimi-k2-0905-preview", 262144, 0, 0},
		{"z-ai/glm-4.6", 204800, 0, 131072},
		{"grok-4-0709", 256000, 0, 0},
		{"grok-4-fast", 2000000, 0, 0},
		{"amazon.nova-lite-v1:0", 300000, 0, 0},
	} {
		t.Run(tc.model, func(t *testing.T) {
			want := window.Limits{Total: tc.total, Input: tc.input, Output: tc.output, Source: window.Table}
			if got := b.Lookup(window.Scope{}, tc.model, start); got != want {
				t.Errorf("Lookup = %+v, want %+v", got, want)
			}
		})
	}
}

// TestLookupTableUnknown: a name that only looks like a known one must not get
// its window, since too small a window folds what would have fit.
func TestLookupTableUnknown(t *testing.T) {
	b := book(t, window.BookConfig{})
	for _, model := range []string{
		"", "gpt", "gpt-", "gpt-test", "test", "model", "claude", "gemini", "llama", "o", "-", "/", ":", "@", ".",
		"openai/", "gpt-4-32k", "gpt-4omni", "gpt-5.99", "gpt-45", "claude-opus-4-9", "claude-haiku-9-20300101",
		"glm-4", "kimi-k2-ultra", "grok-4-heavy", "mistral-large-2612", "o1-max", "qwen-max", "llama3.1:8b", "gpt-oss",
		"-2024-08-06", "-latest", "2024-08-06", "v1", strings.Repeat("gpt-4o-", 100), strings.Repeat("a.", 200),
		"\xff\xfe", "gpt-4ö",
	} {
		t.Run(model, func(t *testing.T) {
			want := window.Limits{Source: window.Unknown}
			if got := b.Lookup(window.Scope{}, model, start); got != want {
				t.Errorf("Lookup = %+v, want %+v", got, want)
			}
		})
	}
}
