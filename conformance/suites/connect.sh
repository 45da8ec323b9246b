#!/usr/bin/env bash
# The public Connect suite, server mode, its whole default set, against the product's Connect runtime. Prints the totals; exits non-zero on
# any failure and on any total but the expected one, so that an empty run cannot pass.
set -euo pipefail
cd "$(dirname "$0")/../.."

version=v1.0.7
expected=3620
bin=$PWD/.cache/suites/connect
mkdir -p "$bin"
start=$SECONDS

if [ ! -x "$bin/connectconformance-$version" ]; then
	GOBIN=$bin go install "connectrpc.com/conformance/cmd/connectconformance@$version"
	mv "$bin/connectconformance" "$bin/connectconformance-$version"
fi

gen=conformance/suites/connect/testdata/gen
if [ "$(cat "$gen/version" 2>/dev/null || true)" != "$version" ]; then
	conformance/suites/node/install.sh
	module=$(go mod download -json "connectrpc.com/conformance@$version" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
	conformance/suites/node/node_modules/.bin/buf generate --template conformance/suites/connect/buf.gen.yaml "$module/proto"
	echo "$version" >"$gen/version"
fi

go vet conformance/suites/connect/server/*.go
go build -o "$bin/server" conformance/suites/connect/server/*.go
installed=$SECONDS

log=$bin/run.log
if "$bin/connectconformance-$version" --mode server -p 8 -- "$bin/server" >"$log" 2>&1; then failed=0; else failed=1; fi
grep -E '^(FAILED|INFO|ERROR)|case' "$log" | head -50 || true
passed=$(sed -n 's/^\([0-9,]*\) passed.*/\1/p' "$log" | tail -1 | tr -d ,)
echo "connect suite $version: ${passed:-0} of $expected passed; $((installed - start)) s to install, $((SECONDS - installed)) s to run"
if [ "$failed" != 0 ] || [ "${passed:-0}" != "$expected" ]; then
	tail -60 "$log" >&2
	exit 1
fi
