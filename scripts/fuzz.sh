#!/usr/bin/env bash
# Runs every fuzz target of the module for the given time each, 10s by default.
# Minimizing an input that merely reaches something new is kept short: the bodies
# are long, and it would take most of the time.
set -euo pipefail

time=${1:-10s}
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# go test sometimes fails with nothing but "context deadline exceeded" where the
# time is over in the middle of an input (golang/go#75804, mended in Go 1.27). That is no finding: one
# has an input that was written down, or says what went wrong.
only_late() {
  grep -q '^    context deadline exceeded$' "$log" &&
    ! grep -Eq 'Failing input written|panic|_test\.go:|terminated unexpectedly' "$log"
}

for package in $(go list ./...); do
  for target in $(go test -list '^Fuzz' "$package" | grep '^Fuzz' || true); do
    echo "fuzz $package $target"
    if ! go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 5x "$package" 2>&1 | tee "$log"; then
      only_late || exit 1
      echo "fuzz $package $target: its time was over in the middle of an input"
    fi
  done
done
