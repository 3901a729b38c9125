#!/usr/bin/env bash
# Installs the clients at the versions of package-lock.json into a temporary
# folder, without running any script of theirs, and drives them. FOLDGATE_CLIENTS
# names a folder where they are already; it is left as it is.
#
#   run.sh             all clients, and pi as the coding agent
#   run.sh opencode    opencode as the coding agent
set -euo pipefail
cd "$(dirname "$0")"

only='^Test' tags='' omit=(--omit=dev)
if [ "${1:-}" = opencode ]; then
  only='^TestOpencode$' tags=opencode omit=()
  unset FOLDGATE_MATRIX
fi

if ! command -v npm >/dev/null && command -v apt-get >/dev/null; then
  as_root=()
  if [ "$(id -u)" -ne 0 ]; then as_root=(sudo -n); fi
  if "${as_root[@]}" true 2>/dev/null; then
    echo "npm is missing: installing it with apt-get"
    export DEBIAN_FRONTEND=noninteractive
    "${as_root[@]}" apt-get update -qq && "${as_root[@]}" apt-get install -y -qq nodejs npm >/dev/null || true
  fi
fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
if [ -z "${FOLDGATE_CLIENTS:-}" ]; then
  if ! command -v npm >/dev/null; then
    echo "npm is missing, and it could not be installed without your help (Debian, Ubuntu: sudo apt-get install npm)" >&2
    exit 1
  fi
  FOLDGATE_CLIENTS=$folder
  cp package.json package-lock.json "$FOLDGATE_CLIENTS"
  echo "installing the clients"
  npm ci --prefix "$FOLDGATE_CLIENTS" "${omit[@]}" --ignore-scripts --no-audit --no-fund --loglevel=error
fi
export FOLDGATE_CLIENTS

# The program of the tests itself, since go test keeps the table of a run that
# went well to itself.
go test -c -tags "$tags" -o "$folder/clients.test" .
"$folder/clients.test" -test.run "$only" -test.timeout 15m
