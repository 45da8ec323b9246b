#!/usr/bin/env bash
# Every suite and linter that others wrote, one after another; fails when any of them fails, after all of them ran.
set -uo pipefail
cd "$(dirname "$0")"
failed=0
for suite in lint connect mcp; do
	"./$suite.sh" || { echo "FAIL  $suite"; failed=1; }
done
exit $failed
