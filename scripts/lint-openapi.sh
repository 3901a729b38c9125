#!/usr/bin/env bash
# Lints openapi.yaml as OpenAPI 3.1. The linter is installed for this run only,
# at one version and without running any script of its own. Where it cannot be
# had, that is said, and the description is still tested by go test .
set -euo pipefail
cd "$(dirname "$0")/.."

linter=@redocly/cli@2.77.0

if ! command -v npm >/dev/null; then
  echo "npm is not installed: openapi.yaml is not linted" >&2
  exit
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
if ! npm install --prefix "$folder" --ignore-scripts --no-audit --no-fund --loglevel=error "$linter" >/dev/null; then
  echo "$linter cannot be installed: openapi.yaml is not linted" >&2
  exit
fi
export REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true
"$folder/node_modules/.bin/redocly" lint --config scripts/redocly.yaml --format stylish openapi.yaml >"$folder/report" 2>&1 || {
  cat "$folder/report" >&2
  exit 1
}
echo "openapi.yaml: linted"
