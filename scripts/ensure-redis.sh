#!/usr/bin/env bash
# Sees to it that redis-server is installed: the tests start their own servers
# on free ports. Installs it with apt-get where that is allowed without asking.
set -euo pipefail

if command -v redis-server >/dev/null; then
  exit 0
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  as_root=(sudo -n)
fi

if command -v apt-get >/dev/null && "${as_root[@]}" true 2>/dev/null; then
  echo "redis-server is missing: installing it with apt-get"
  # No service is started: the tests need the program only.
  export DEBIAN_FRONTEND=noninteractive RUNLEVEL=1
  "${as_root[@]}" apt-get update -qq && "${as_root[@]}" apt-get install -y -qq redis-server >/dev/null || true
fi

if ! command -v redis-server >/dev/null; then
  cat >&2 <<'MESSAGE'
redis-server is missing, and it could not be installed without your help. The tests need version 6.2 or newer:
  Debian, Ubuntu:  sudo apt-get install redis-server
  Fedora:          sudo dnf install redis
  Alpine:          sudo apk add redis
  macOS:           brew install redis
MESSAGE
  exit 1
fi
