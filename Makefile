# Every target that CI runs; `make help` lists them. Nothing here needs a tool
# installed by hand: Go builds the product and its tools, npm (for the lanes
# that say so) brings the suites that others wrote, both pinned.
MAKEFLAGS += --warn-undefined-variables --no-print-directory
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

GO     ?= go
LISTEN ?= 127.0.0.1:8080
DATA   ?= $(CURDIR)/data
FUZZTIME ?= 100000x
BENCHFLAGS ?=
FILES  ?= 0
SEEDS  ?= 1000
SIEGE  ?= 60s

.PHONY: help generate check-generate check-frozen breaking build lint test race conformance remote suites crash fuzz bench retention run demo siege full-disk check

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  \1\t/' | expand -t 18

generate: ## write gen/ from spec/
	$(GO) run ./tools/gwgen generate

check-generate: ## regenerate beside the tree and compare
	$(GO) run ./tools/gendrift

check-frozen: ## compare the frozen files with spec/frozen.sum
	cd spec && sha256sum --check --quiet frozen.sum

breaking: ## refuse wire changes that break clients (npm)
	conformance/suites/lint.sh breaking

build: ## compile committed code to bin/
	$(GO) build -o bin/ ./cmd/...

lint: check-frozen ## formatting, vet, import rules, docs
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$unformatted" ]; then echo "not formatted:"; echo "$$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(GO) run ./tools/archcheck
	$(GO) run ./tools/doccheck

test: ## the tests of the product: under ten minutes on two cores
	$(GO) test ./...

race: ## the same under the race detector
	$(GO) test -race ./...

conformance: ## every scenario on every protocol, in process
	$(GO) test ./conformance/...

remote: build ## every scenario against a running server, by its URL
	conformance/remote.sh

suites: ## the suites that others wrote, and the linters of the documents (npm)
	conformance/suites/run.sh

full-disk: ## commands on a disk that is full; needs a kernel that lets its user mount one
	$(GO) test -tags fulldisk -count=1 -run FullDisk ./cmd/sawhorse

crash: ## power cuts and failing files, many seeds
	SAWHORSE_SEEDS=$(SEEDS) $(GO) test -run 'Crash|Fault|PowerCut' -count=1 -timeout 30m ./core/...

fuzz: ## every fuzz target, FUZZTIME each (a lane of its own: its input is random)
	tools/fuzz.sh $(FUZZTIME)

bench: build ## this server beside bare peers, ratios in one run
	$(GO) run ./conformance/bench $(BENCHFLAGS)

retention: build ## what a million replaces of one file leave on the disk; 20 minutes
	$(GO) run ./conformance/bench --only retention $(BENCHFLAGS)

run: build ## serve on LISTEN with an embedded store in DATA
	bin/sawhorse serve --listen $(LISTEN) --data $(DATA) --examples

demo: build ## put the Go library's sources into a workbench, kill, compare
	$(GO) run ./conformance/demo -files $(FILES)

siege: build ## kill the server under load for SIEGE, then look at everything
	$(GO) run ./conformance/siege -duration $(SIEGE)

check: lint check-generate test ## what a change must pass
