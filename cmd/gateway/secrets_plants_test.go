//go:build unix

package main

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// stem begins every planted text: wherever it turns up, something was told.
const stem = "pl4nt-"

// plant is a text that is found again, named for the place where it is planted:
// letters only.
func plant(place string) string { return stem + place + "-tn4lp" }

var planted = regexp.MustCompile(stem + "([a-z]+)-tn4lp")

// surface is something that the program tells about itself.
type surface struct {
	name, text string
	// belongs are the places whose texts belong there all the same.
	belongs []string
}

// leaks are the planted texts in s, and anything else that gives one away.
func (s surface) leaks() []string {
	var found []string
	text := strings.ToLower(s.text)
	for _, match := range planted.FindAllStringSubmatch(text, -1) {
		if !slices.Contains(s.belongs, match[1]) && !slices.Contains(found, match[1]) {
			found = append(found, match[1])
		}
	}
	// Cut, or encoded.
	if rest := planted.ReplaceAllString(text, ""); strings.Contains(rest, stem) {
		found = append(found, "a part of one: "+around(rest, stem))
	}
	if strings.Contains(text, hex.EncodeToString([]byte(stem))) {
		found = append(found, "one in hexadecimal")
	}
	for _, part := range inBase64(stem) {
		if strings.Contains(s.text, part) {
			found = append(found, "one in base64: "+around(s.text, part))
		}
	}
	return found
}

// around is some of text about the first place where part is.
func around(text, part string) string {
	i := strings.Index(text, part)
	return text[max(0, i-100):min(len(text), i+len(part)+100)]
}

// inBase64 is what text looks like inside of something longer, by where it begins.
func inBase64(text string) []string {
	var all []string
	for before := range 3 {
		encoded := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("\x00", before) + text))
		first, last := (8*before+5)/6, 8*(before+len(text))/6 // the characters that are text's alone
		all = append(all, encoded[first:last])
	}
	return all
}

// What finds nothing proves nothing.
func TestPlantsAreFound(t *testing.T) {
	t.Parallel()
	key := plant("key")
	for _, text := range []string{
		"error: " + key, strings.ToUpper(key), `{"a":"` + key + `"}`, key[:len(stem)+1], hex.EncodeToString([]byte("a" + key)),
		base64.StdEncoding.EncodeToString([]byte(key)), base64.StdEncoding.EncodeToString([]byte("u:" + key)), base64.URLEncoding.EncodeToString([]byte("x" + key)),
	} {
		if len(surface{text: text}.leaks()) != 1 {
			t.Errorf("%s: found %q", text, surface{text: text}.leaks())
		}
	}
	if found := (surface{text: key + plant("other"), belongs: []string{"key"}}).leaks(); fmt.Sprint(found) != "[other]" {
		t.Errorf("found %q", found)
	}
}
