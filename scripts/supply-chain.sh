#!/usr/bin/env bash
# What the program is made of, and what is known against it:
#
#   supply-chain.sh vulnerabilities   known vulnerabilities that the code reaches
#   supply-chain.sh gosec             patterns in our own code that are often mistakes
#   supply-chain.sh sbom FILE         every module of the program, as CycloneDX JSON
#
# Each tool is built from source at one version, apart from go.mod. A check that
# could not be made fails: it never looks like one that found nothing.
set -euo pipefail
cd "$(dirname "$0")/.."

GO=${GO:-go}
govulncheck=golang.org/x/vuln/cmd/govulncheck@v1.9.0
gosec=github.com/securego/gosec/v2/cmd/gosec@v2.30.0
cyclonedx=github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# tool builds a tool, or says that it cannot be had.
tool() {
  if ! GOBIN="$folder" GOFLAGS= "$GO" install "$1" 2>"$folder/log"; then
    tail -n 3 "$folder/log" >&2
    echo "$1 could not be built: nothing was checked" >&2
    exit 1
  fi
}

vulnerabilities() {
  tool "$govulncheck"
  local code=0
  "$folder/govulncheck" ./cmd/gateway . ./middleware ./compression/... ./ownership/... ./redisstore/... >"$folder/report" 2>&1 || code=$?
  cat "$folder/report"
  if grep -q "fetching vulnerabilities" "$folder/report"; then
    echo "the database of vulnerabilities could not be reached: nothing was checked" >&2
  fi
  exit "$code"
}

# Excluded rules, each with its reason:
#   G101  credentials in the source: what it finds are names of header fields and of metrics
#   G104  errors that are not looked at: golangci-lint's errcheck asks for each with its place
#   G306  rights of files: only the generators of documentation write any
#   G304  a file by a variable's name: the configuration's files are the operator's to name
#   G404  a weak source of chance: jitter only; ids and nonces come from crypto/rand
#   G115  conversions of integers: lengths and counts, bounded where they come from outside
#   G705  bodies that are written to a caller: a proxy passes them on as they came
excluded=G101,G104,G115,G304,G306,G404,G705

own_code() {
  tool "$gosec"
  "$folder/gosec" -quiet -exclude="$excluded" -exclude-generated -exclude-dir=examples -exclude-dir=e2e -exclude-dir=scripts ./...
  echo "gosec: nothing found (without $excluded)"
}

sbom() {
  local file=${1:?a file to write}
  tool "$cyclonedx"
  mkdir -p "$(dirname "$file")"
  "$folder/cyclonedx-gomod" app -json -std -assert-licenses -licenses -output-version 1.6 -main cmd/gateway -output "$file" .
  local modules
  modules=$("$GO" list -deps -f '{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}' ./cmd/gateway | sort -u | sed '/^$/d')
  while read -r module; do
    if ! grep -q "\"name\": \"$module\"" "$file"; then
      echo "$file lacks $module" >&2
      exit 1
    fi
  done <<<"$modules"
  echo "$file: $(wc -l <<<"$modules") modules"
}

case ${1:-} in
vulnerabilities) vulnerabilities ;;
gosec) own_code ;;
sbom) sbom "${2:-}" ;;
*)
  sed -n '2,9s/^# \{0,1\}//p' "$0" >&2
  exit 2
  ;;
esac
