#!/usr/bin/env bash
# Runs the pinned Node where the lockfile brings one for this machine, and otherwise the Node on the path when it is new enough.
set -euo pipefail
dir=$(cd "$(dirname "$0")" && pwd)
for node in "$dir"/node_modules/node-*-*/bin/node; do
	if [ -x "$node" ]; then exec "$node" "$@"; fi
done
if [ "$(node -p 'parseInt(process.versions.node)')" -lt 22 ]; then
	echo "the suites need Node 22 or newer" >&2
	exit 1
fi
exec node "$@"
