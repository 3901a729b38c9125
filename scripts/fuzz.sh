#!/usr/bin/env bash
# Runs every fuzz target of the module for the given time each, 10s by default.
set -euo pipefail

time=${1:-10s}
for package in $(go list ./...); do
  for target in $(go test -list '^Fuzz' "$package" | grep '^Fuzz' || true); do
    echo "fuzz $package $target"
    go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "$package"
  done
done
