#!/usr/bin/env bash
# Runs every fuzz target of the module for the given time each, 10s by default.
# Minimizing an input that merely reaches something new is kept short: the bodies
# are long, and it would take most of the time.
set -euo pipefail

time=${1:-10s}
for package in $(go list ./...); do
  for target in $(go test -list '^Fuzz' "$package" | grep '^Fuzz' || true); do
    echo "fuzz $package $target"
    go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 5x "$package"
  done
done
