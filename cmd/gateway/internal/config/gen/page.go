package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"strings"

	"github.com/foldgate/foldgate/cmd/gateway/internal/config"
)

//go:embed head.md
var head string

// page is the whole reference.
func page(keys []config.Key, route []config.RouteKey, example []byte) []byte {
	var b bytes.Buffer
	fmt.Fprint(&b, "<!-- Written by \"make docs\" from the table in cmd/gateway/internal/config. Do not edit. -->\n\n", head)
	fmt.Fprintf(&b, "\n## Example\n\n[foldgate.yaml](foldgate.yaml), which the tests check as `gateway check` does:\n\n```yaml\n%s```\n", example)
	overview(&b, keys)
	var group config.Group
	for _, k := range keys {
		if k.Group != group {
			group = k.Group
			fmt.Fprintf(&b, "\n## %s\n", group)
		}
		section(&b, k)
		if k.Path == "summarizer.routes" {
			fields(&b, route)
		}
	}
	return b.Bytes()
}

// overview is all settings in one table.
func overview(b *bytes.Buffer, keys []config.Key) {
	fmt.Fprint(b, "\n## All settings\n\n| setting | default | reload | |\n|---|---|---|---|\n")
	for _, k := range keys {
		fmt.Fprintf(b, "| [`%s`](#%s) | %s | %s | %s |\n", title(k), anchor(k), code(k.Default), inShort(k), cell(k.Usage))
	}
}

// section is one setting.
func section(b *bytes.Buffer, k config.Key) {
	fmt.Fprintf(b, "\n### `%s`\n\n%s.\n%s\n\n", title(k), sentence(k.Usage), k.About)
	if k.Flag != "" {
		repeats := ""
		if k.Repeats {
			repeats = ", repeatable"
		}
		fmt.Fprintf(b, "- Flag: `--%s %s`%s\n", k.Flag, k.Value, repeats)
	}
	if env := k.Env(); env != "" {
		separated := ""
		if k.Repeats {
			separated = ", separated by commas"
		}
		fmt.Fprintf(b, "- Environment: `%s`%s\n", env, separated)
	}
	if k.Path == "" {
		fmt.Fprint(b, "- File: no place in it\n")
	}
	fmt.Fprintf(b, "- Value: %s\n", k.Allowed)
	if k.Default != "" {
		fmt.Fprintf(b, "- Default: `%s`\n", k.Default)
	}
	if k.Restart {
		fmt.Fprint(b, "- Reload: a change is refused, it needs a restart\n")
		return
	}
	fmt.Fprint(b, "- Reload: changes it\n")
}

// fields are what a route has.
func fields(b *bytes.Buffer, route []config.RouteKey) {
	fmt.Fprint(b, "\n| field of a route | value | |\n|---|---|---|\n")
	for _, f := range route {
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", f.Name, cell(f.Allowed), cell(f.About))
	}
}

// title is a setting's name as operators write it.
func title(k config.Key) string {
	if k.Path != "" {
		return k.Path
	}
	return "--" + k.Flag
}

// anchor is what GitHub makes of a heading.
func anchor(k config.Key) string {
	return strings.NewReplacer(".", "", "`", "").Replace(title(k))
}

// inShort is what a reload does, for a cell.
func inShort(k config.Key) string {
	if k.Restart {
		return "restart"
	}
	return "yes"
}

func code(text string) string {
	if text == "" {
		return "–"
	}
	return "`" + text + "`"
}

// cell keeps a text within its cell.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

// sentence begins a usage line with a capital letter.
func sentence(usage string) string {
	if strings.HasPrefix(usage, "fold;") { // a word of the configuration
		return "`fold`" + strings.TrimPrefix(usage, "fold")
	}
	return strings.ToUpper(usage[:1]) + usage[1:]
}
