#!/usr/bin/env bash
# Replays the scenarios against a running server by its URL, as others do it in their CI: what tests in memory cannot show is that a story
# also holds beside whatever else the server has.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
bin/sawhorse serve --data "$work/data" --listen 127.0.0.1:0 >"$work/ready" 2>"$work/log" &
server=$!
trap 'kill $server; wait $server; rm -rf "$work"' EXIT
until grep -q ready "$work/ready"; do
	kill -0 $server || { cat "$work/log"; exit 1; }
	sleep 0.1
done
bin/sawhorse conformance run --url "$(cut -d' ' -f2 "$work/ready")" --junit "$work/junit.xml" | tail -5
