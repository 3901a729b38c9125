#!/usr/bin/env bash
# Sees to it that nginx, Prometheus and Redis are installed: the tests of e2e/deploy
# run them. Installs them with apt-get where that is allowed without asking. No
# service is started, the tests need the programs only.
set -euo pipefail

missing() {
  packages=()
  command -v nginx >/dev/null || [ -x /usr/sbin/nginx ] || packages+=(nginx)
  command -v prometheus >/dev/null && command -v promtool >/dev/null || packages+=(prometheus)
  command -v redis-server >/dev/null && command -v redis-cli >/dev/null || packages+=(redis-server redis-tools)
  command -v git >/dev/null || packages+=(git)
}

missing
[ ${#packages[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  as_root=(sudo -n)
fi

if command -v apt-get >/dev/null && "${as_root[@]}" true 2>/dev/null; then
  echo "installing with apt-get: ${packages[*]}"
  export DEBIAN_FRONTEND=noninteractive RUNLEVEL=1
  "${as_root[@]}" apt-get update -qq &&
    "${as_root[@]}" apt-get install -y -qq --no-install-recommends "${packages[@]}" >/dev/null || true
fi

missing
if [ ${#packages[@]} -gt 0 ]; then
  echo "missing, and could not be installed without your help: ${packages[*]} (as Debian and Ubuntu call them)" >&2
  exit 1
fi
