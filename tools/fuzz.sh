#!/usr/bin/env bash
# Runs every fuzz target of the module for the given time each; finds them by
# asking the test binaries, so that a new target needs no list.
set -euo pipefail
time=${1:-20s}
go=${GO:-go}
found=0
for package in $("$go" list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' ./...); do
  for target in $("$go" test -list '^Fuzz' "$package" | grep '^Fuzz' || true); do
    found=$((found + 1))
    echo "$package $target"
    "$go" test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "$package"
  done
done
if [ "$found" = 0 ]; then echo "no fuzz target found" >&2; exit 1; fi
echo "$found fuzz targets, $time each"
