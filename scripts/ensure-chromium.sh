#!/usr/bin/env bash
# Sees to it that Chromium is installed: the tests of the page drive it. Installs it
# with apt-get where that is allowed without asking.
set -euo pipefail

there() {
  command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null
}

if there; then
  exit 0
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  as_root=(sudo -n)
fi

if command -v apt-get >/dev/null && "${as_root[@]}" true 2>/dev/null; then
  echo "chromium is missing: installing it with apt-get"
  export DEBIAN_FRONTEND=noninteractive
  "${as_root[@]}" apt-get update -qq && "${as_root[@]}" apt-get install -y -qq --no-install-recommends chromium >/dev/null || true
fi

if ! there; then
  cat >&2 <<'MESSAGE'
chromium is missing, and it could not be installed without your help:
  Debian:  sudo apt-get install chromium
  Fedora:  sudo dnf install chromium
  Alpine:  sudo apk add chromium
MESSAGE
  exit 1
fi
