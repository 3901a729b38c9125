#!/usr/bin/env bash
# Runs the commands of a page of the documentation as they stand there: every block
# marked sh, one after another, in one shell, from the root of the repository. It
# fails with the first command that fails, and ends what the page started.
#
#   scripts/walk.sh docs/operating.md
set -euo pipefail
cd "$(dirname "$0")/.."
page=${1:?which page}

commands=$(mktemp)
finish() {
  code=$?
  trap - EXIT
  pids=$(jobs -p)
  # shellcheck disable=SC2086 # one word for each process
  if [ -n "$pids" ]; then kill $pids 2>/dev/null || true; fi
  wait
  rm -f "$commands"
  exit "$code"
}
trap finish EXIT

# Each block is shown before it runs.
awk '
  /^```sh$/ { inside = 1; block = ""; next }
  /^```$/ && inside {
    inside = 0
    shown = block
    gsub(/\047/, "\047\\\047\047", shown)
    printf "printf \"%%s\" \047\n%s\047\n%s", shown, block
    next
  }
  inside { block = block $0 "\n" }
' "$page" > "$commands"
[ -s "$commands" ] || { echo "no commands in $page" >&2; exit 1; }

# shellcheck source=/dev/null
source "$commands"
