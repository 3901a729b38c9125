#!/bin/sh
# Makes the secrets of docker-compose.yml, each of 32 random bytes, and leaves those
# that are there already as they are:
#
#   admin-token       bearer of the gateways' admin planes
#   tenant-secret     keys the hash of callers' credentials
#   grafana-password  of Grafana's user admin
#
# The folder is for its owner alone. The files in it can be read by everybody, since
# each container runs as a user of its own.
set -eu
cd "$(dirname "$0")/secrets"
chmod 700 .

for name in admin-token tenant-secret grafana-password; do
  [ -s "$name" ] && continue
  # Whole or not at all: what is cut here is made anew the next time.
  head -c 32 /dev/urandom | od -An -v -tx1 | tr -d ' \n' > "$name.new"
  [ "$(wc -c < "$name.new")" -eq 64 ] || { echo "$name: no random bytes" >&2; exit 1; }
  chmod 444 "$name.new"
  mv "$name.new" "$name"
  echo "made deploy/compose/secrets/$name"
done
