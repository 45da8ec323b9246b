#!/usr/bin/env bash
# The linters that others wrote, over the wire's sources: Spectral and Redocly on OpenAPI, the AsyncAPI parser on AsyncAPI, buf lint, buf
# format and buf breaking on the protos. Every linter first has to refuse a document that is known to be bad, so that none can rot into a
# check that passes everything.
#
#   lint.sh             everything
#   lint.sh breaking    only what breaks clients
#   lint.sh accept      take the protos of this tree as the wire that may not break (after a release; a reviewed change)
set -euo pipefail
cd "$(dirname "$0")/../.."
here=conformance/suites/lint
node=conformance/suites/node
wire=$here/wire.binpb
start=$SECONDS
"$node/install.sh"
installed=$SECONDS

spectral() { "$node/node.sh" "$node/node_modules/@stoplight/spectral-cli/dist/index.js" lint --quiet --fail-severity=warn -r "$here/.spectral.yaml" "$@"; }
redocly() { REDOCLY_TELEMETRY=off "$node/node.sh" "$node/node_modules/@redocly/cli/bin/cli.js" lint --config spec/redocly.yaml "$@"; }
asyncapi() { "$node/node.sh" "$here/asyncapi.cjs" "$PWD/$node/node_modules/@asyncapi/parser/cjs/index.js" "$@"; }
buf() { "$node/node_modules/.bin/buf" "$@"; }

case "${1:-all}" in
all | breaking) ;;
accept)
	buf build spec/proto --exclude-source-info -o "$wire"
	exit
	;;
*)
	echo "usage: lint.sh [breaking|accept]" >&2
	exit 2
	;;
esac

failed=0
good() {
	local name=$1 log
	shift
	if log=$("$@" 2>&1); then
		echo "ok    $name"
	else
		echo "FAIL  $name"
		echo "$log"
		failed=1
	fi
}
bad() {
	local name=$1
	shift
	if "$@" >/dev/null 2>&1; then
		echo "FAIL  $name accepts a document that is known to be bad"
		failed=1
	fi
}

breaking() {
	bad "buf breaking" buf breaking "$here/testdata/bad-proto" --against "$here/testdata/good-proto"
	good "buf breaking: spec/proto against $wire" buf breaking spec/proto --against "$wire"
}
if [ "${1:-all}" = breaking ]; then
	breaking
	exit $failed
fi

openapi=()
for f in spec/openapi/*.yaml; do
	if grep -q '^openapi:' "$f"; then openapi+=("$f"); fi
done
async=(spec/asyncapi/*.yaml)
if [ ${#openapi[@]} -lt 3 ] || [ ! -f "${async[0]}" ]; then
	echo "FAIL  the documents to lint are not where they should be"
	exit 1
fi

bad "Spectral on OpenAPI" spectral "$here/testdata/bad-openapi.yaml"
bad "Spectral on AsyncAPI" spectral "$here/testdata/bad-asyncapi.yaml"
bad "Redocly" redocly "$here/testdata/bad-openapi.yaml"
bad "the AsyncAPI parser" asyncapi "$here/testdata/bad-asyncapi.yaml"
bad "buf lint" buf lint "$here/testdata/bad-proto"

good "Spectral: ${openapi[*]} ${async[*]}" spectral "${openapi[@]}" "${async[@]}"
good "Redocly: ${openapi[*]}" redocly "${openapi[@]}"
for f in "${async[@]}"; do good "AsyncAPI parser: $f" asyncapi "$f"; done
good "buf lint: spec/proto" buf lint spec/proto
good "buf format: spec/proto" buf format -d --exit-code spec/proto
breaking

echo "linters: $((installed - start)) s to install, $((SECONDS - installed)) s to run"
exit $failed
