#!/usr/bin/env bash
# Installs the pinned Node packages when the lockfile changed since the last time. No package's own script runs.
set -euo pipefail
cd "$(dirname "$0")"
sum=$(cat package.json package-lock.json .npmrc | sha256sum | cut -d' ' -f1)
if [ "$(cat node_modules/.installed 2>/dev/null || true)" != "$sum" ]; then
	npm ci --loglevel=error
	echo "$sum" >node_modules/.installed
fi
