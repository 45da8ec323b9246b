#!/usr/bin/env bash
# The public MCP suite against the product's MCP runtime, through the fixture: the requirement sets of two revisions, each with the fast path
# on and off. Prints the totals; exits non-zero unless every scored scenario passes in all four runs.
set -euo pipefail
cd "$(dirname "$0")/../.."

out=$PWD/.cache/suites/mcp
node=conformance/suites/node
suite=$node/node_modules/@modelcontextprotocol/conformance/dist/index.js
mkdir -p "$out"
start=$SECONDS
"$node/install.sh"
go build -o "$out/server" ./conformance/suites/mcp/server
installed=$SECONDS

server=
stop() {
	if [ -n "$server" ]; then
		kill "$server" 2>/dev/null || true
		wait "$server" 2>/dev/null || true
		server=
	fi
}
trap stop EXIT

# run REVISION SCORED FASTPATH: SCORED is how many scenarios of the revision count.
run() {
	local revision=$1 scored=$2 fastpath=$3
	local log=$out/$revision-fastpath-$fastpath.log url passed verdict=ok
	rm -f "$out/ready"
	mkfifo "$out/ready"
	"$out/server" -fast-path="$fastpath" >"$out/ready" 2>"$out/server.log" &
	server=$!
	read -r _ url <"$out/ready"
	"$node/node.sh" "$suite" server --url "$url/mcp/fixture" --requirements "$revision" -o "$out/results" >"$log" 2>&1 || verdict=FAIL
	stop
	passed=$(awk '/^=== SUMMARY/ {on=1} /^Not scored/ {late=1}
		on && !late && $1 == "✓" {sub(":", "", $2); ok[$2]=1}
		late {delete ok[$2]}
		END {for (s in ok) n++; print n+0}' "$log")
	if [ "$passed" != "$scored" ]; then verdict=FAIL; fi
	echo "$verdict  MCP $revision, fast path $fastpath: $passed of $scored scored scenarios; $(grep '^Total:' "$log" || echo 'no total')"
	if [ "$verdict" != ok ]; then
		grep -E '^✗|rror' "$log" | head -40 >&2
		failed=1
	fi
}

failed=0
rm -rf "$out/results"
for fastpath in true false; do
	run 2025-11-25 30 "$fastpath"
	run 2026-07-28 37 "$fastpath"
done
echo "MCP suite 0.2.0-alpha.12: $((installed - start)) s to install, $((SECONDS - installed)) s to run"
exit $failed
