package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// The marks between which the tables stand in a document.
const (
	marksBegin = "<!-- eval: begin -->\n"
	marksEnd   = "<!-- eval: end -->\n"
)

// errNoMarks says that a document has no place for the tables.
var errNoMarks = errors.New("the marks between which the tables stand are missing")

// hasMarks is an error where a file has no place for the tables.
func hasMarks(path string) error {
	raw, err := os.ReadFile(path) //nolint:gosec // the caller's to name
	if err != nil {
		return fmt.Errorf("read the document: %w", err)
	}
	if _, err := replaced(string(raw), ""); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// replaceIn writes the tables into a file.
func replaceIn(path, tables string) error {
	raw, err := os.ReadFile(path) //nolint:gosec // the caller's to name
	if err != nil {
		return fmt.Errorf("read the document: %w", err)
	}
	text, err := replaced(string(raw), tables)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil { //nolint:gosec // a document is for everybody
		return fmt.Errorf("write the document: %w", err)
	}
	return nil
}

// replaced is a document with other tables.
func replaced(document, tables string) (string, error) {
	before, rest, ok := strings.Cut(document, marksBegin)
	if !ok {
		return "", errNoMarks
	}
	_, after, ok := strings.Cut(rest, marksEnd)
	if !ok {
		return "", errNoMarks
	}
	return before + marksBegin + "\n" + tables + "\n" + marksEnd + after, nil
}
