package main

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/foldgate/foldgate/compression"
	"github.com/foldgate/foldgate/compression/window"
)

// laterHashes names what the rest of one recording needed of its beginning: the
// data ends at the recorded compaction, so it cannot tell. The names are hashed,
// since no data is copied into this repository. Written by -later.
//
//go:embed later.txt
var laterHashes string

// fileName is what counts as an identifier here: a file, with or without its path.
var fileName = regexp.MustCompile(`[\w./@-]*[\w-]+\.(?:ts|tsx|js|mjs|json|jsonl|md)\b`)

// home is the folder whose name the data replaced.
var home = regexp.MustCompile(`/Users/[^/\s"]+`)

// neededLater are the identifiers that only the messages before old hold and that
// the recording's tool calls used after its compaction.
func neededLater(f *file) []string { return neededIn(f, laterHashes) }

// neededIn are those that a list of hashes names.
func neededIn(f *file, hashes string) []string {
	old, kept := f.facts.firstOld, strings.Join(f.texts[f.facts.firstOld:], "\n")
	listed := map[string]bool{}
	for line := range strings.Lines(hashes) {
		listed[strings.TrimSpace(line)] = true
	}
	seen := map[string]bool{}
	var out []string
	for _, text := range f.texts[:old] {
		for _, name := range fileName.FindAllString(text, -1) {
			for i := range len(name) {
				if i > 0 && wordByte(name[i-1]) && wordByte(name[i]) || seen[name[i:]] {
					continue
				}
				seen[name[i:]] = true
				if listed[hashOf(name[i:])] && !strings.Contains(kept, name[i:]) {
					out = append(out, name[i:])
				}
			}
		}
	}
	slices.Sort(out)
	return out
}

func hashOf(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:8])
}

// held counts the names that a text has.
func held(names []string, text string) int {
	n := 0
	for _, name := range names {
		if strings.Contains(text, name) {
			n++
		}
	}
	return n
}

// atSize is the handoff without a model for the first old messages of a
// conversation whose text has at most so many bytes.
func atSize(f *file, old, size int, memo *compression.Memo) (compression.Handoff, error) {
	c, err := f.until(old+1, memo)
	if err != nil {
		return compression.Handoff{}, err
	}
	best := compression.Handoff{}
	low, high := 1, size // tokens
	for low <= high {
		middle := (low + high) / 2
		h := c.view.Deterministic(window.Budget{
			Limits: window.Limits{Total: c.view.Total(), Source: window.Config},
			Usable: c.view.Total(), Trigger: 1, // the cut moves to the newest group at every turn
			Handoff: window.Tokens(middle), Deterministic: window.Tokens(middle),
			Correction: 1, Step: 1,
		}, window.Settings{Trigger: 1}, nil)
		if len(h.Text) > size {
			high = middle - 1
			continue
		}
		if len(h.Text) >= len(best.Text) {
			best = h
		}
		low = middle + 1
	}
	return best, nil
}

// errRecording says that a file is not the recording that is meant.
var errRecording = errors.New("no session with a compaction")

// recordLater is what laterHashes should be, from the whole recording that
// agent-code-pi is the beginning of.
func recordLater(f *file, recording string) ([]string, error) {
	raw, err := os.ReadFile(recording) //nolint:gosec // the caller's to name
	if err != nil {
		return nil, fmt.Errorf("read the recording: %w", err)
	}
	old := strings.Join(f.texts[:f.facts.firstOld], "\n")
	kept := strings.Join(f.texts[f.facts.firstOld:], "\n")
	names := map[string]bool{}
	compactions := 0
	for line := range bytes.Lines(raw) {
		var entry struct {
			Type    string
			Message struct{ Content json.RawMessage }
		}
		if err := json.Unmarshal(line, &entry); err != nil {
			return nil, fmt.Errorf("read a line of the recording: %w", err)
		}
		if entry.Type == "compaction" {
			compactions++
		}
		if compactions != 1 || entry.Type != "message" {
			continue
		}
		var parts []struct {
			Type      string
			Arguments json.RawMessage
		}
		if json.Unmarshal(entry.Message.Content, &parts) != nil {
			continue // a content that is a string calls nothing
		}
		for _, p := range parts {
			inside(string(p.Arguments), func(s string) {
				for _, name := range fileName.FindAllString(home.ReplaceAllString(s, "/Users/dev"), -1) {
					names[name] = strings.Contains(old, name) && !strings.Contains(kept, name)
				}
			})
		}
	}
	if compactions == 0 {
		return nil, fmt.Errorf("%s: %w", recording, errRecording)
	}
	var hashes []string
	for name, needed := range names {
		if needed {
			hashes = append(hashes, hashOf(name))
		}
	}
	slices.Sort(hashes)
	return hashes, nil
}
