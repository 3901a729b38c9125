package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// versionOf is what the binary knows about itself: the module's version and,
// where it was built from a checkout, the commit.
func versionOf(info *debug.BuildInfo, ok bool) string {
	if !ok || info.Main.Version == "" {
		return "unknown"
	}
	version := strings.Trim(info.Main.Version, "()")
	var revision, modified string
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			revision = s.Value
		case "vcs.modified":
			modified = s.Value
		}
	}
	if revision == "" || strings.Contains(version, revision[:min(12, len(revision))]) {
		return version
	}
	version += "+" + revision[:min(12, len(revision))]
	if modified == "true" {
		version += ".modified"
	}
	return version
}

func (p program) version(_ context.Context, args []string) int {
	if len(args) > 0 {
		return p.misused("version", "version takes no arguments")
	}
	fmt.Fprintf(p.stdout, "foldgate %s (%s, %s/%s)\n", versionOf(debug.ReadBuildInfo()), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return exitOK
}
