#!/usr/bin/env bash
# Checks the pages: links and anchors, names of settings, flags, headers and so on,
# code that stands in a program, and spelling. Links to other places are checked for
# their form only, so that nothing here depends on somebody else's server. The
# spelling checker is installed for this run only, at one version and without
# running any script of its own; docs/words.txt holds the words that it does not know.
set -euo pipefail
cd "$(dirname "$0")/.."

checker=cspell@9.8.0
go=${GO:-go}
bounded=()
if command -v timeout >/dev/null; then bounded=(timeout 300); fi

"${bounded[@]}" "$go" test -count=1 -run 'Page|Link|Word' .

# without says why the spelling was not checked. That is no green: in CI it fails.
without() {
  echo "$1: the spelling of the pages is not checked" >&2
  if [ -n "${CI:-}" ]; then exit 1; fi
  exit 0
}
command -v npm >/dev/null || without "npm is not installed"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${bounded[@]}" npm install --prefix "$folder" --ignore-scripts --no-audit --no-fund --loglevel=error "$checker" >/dev/null ||
  without "$checker cannot be installed"
"${bounded[@]}" "$folder/node_modules/.bin/cspell" lint --config scripts/cspell.json --root . --no-progress --no-summary \
  '*.md' 'docs/**/*.md' 'docs/*.svg' || {
  echo "what is right goes into docs/words.txt, one word a line, in order" >&2
  exit 1
}
echo "the pages: links, names and spelling checked"
