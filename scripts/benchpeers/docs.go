package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// errNoMarks says that a document has no place for a part.
var errNoMarks = errors.New("the marks between which its figures stand are missing")

// marks are what the figures of a part stand between.
func marks(part string) (begin, end string) {
	return "<!-- bench-peers " + part + ": begin -->\n", "<!-- bench-peers " + part + ": end -->\n"
}

// hasMarks is an error where a document has no place for one of the parts.
func hasMarks(path string, parts []string) error {
	raw, err := os.ReadFile(path) //nolint:gosec // the caller's to name
	if err != nil {
		return fmt.Errorf("read the document: %w", err)
	}
	for _, p := range parts {
		if _, err := replaced(string(raw), p, ""); err != nil {
			return fmt.Errorf("%s: part %s: %w", path, p, err)
		}
	}
	return nil
}

// replaceIn writes the figures of a part into a document.
func replaceIn(path, part, text string) error {
	raw, err := os.ReadFile(path) //nolint:gosec // the caller's to name
	if err != nil {
		return fmt.Errorf("read the document: %w", err)
	}
	document, err := replaced(string(raw), part, text)
	if err != nil {
		return fmt.Errorf("%s: part %s: %w", path, part, err)
	}
	if err := os.WriteFile(path, []byte(document), 0o644); err != nil { //nolint:gosec // a document is for everybody
		return fmt.Errorf("write the document: %w", err)
	}
	return nil
}

// replaced is a document with other figures of a part.
func replaced(document, part, text string) (string, error) {
	begin, end := marks(part)
	before, rest, ok := strings.Cut(document, begin)
	if !ok {
		return "", errNoMarks
	}
	_, after, ok := strings.Cut(rest, end)
	if !ok {
		return "", errNoMarks
	}
	return before + begin + "\n" + text + "\n" + end + after, nil
}
