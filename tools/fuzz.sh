#!/usr/bin/env bash
# Runs every fuzz target of the module and fails at the end if any of them did. Targets are found by asking the test
# binaries, so that a new one needs no list. The effort is a count of executions ("100000x") or a time ("20s"); a count
# is the better one: with a time, the runner now and then reports its own deadline as a failure.
set -uo pipefail
effort=${1:-100000x}
go=${GO:-go}
found=0
failed=()
for package in $("$go" list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' ./...); do
  for target in $("$go" test -list '^Fuzz' "$package" | grep '^Fuzz' || true); do
    found=$((found + 1))
    echo "$package $target"
    "$go" test -run '^$' -fuzz "^$target\$" -fuzztime "$effort" "$package" || failed+=("$package $target")
  done
done
if [ "$found" = 0 ]; then echo "no fuzz target found" >&2; exit 1; fi
echo "$found fuzz targets, $effort each, ${#failed[@]} failed"
for f in ${failed[@]+"${failed[@]}"}; do echo "FAIL $f"; done
[ ${#failed[@]} = 0 ]
