# Everything that is done to this repository. "make help" lists it.

SHELL      := bash
GO         ?= go
UPSTREAM   ?= https://api.openai.com
FUZZTIME   ?= 10s
BENCHTIME  ?= 1s
# The race detector needs a C compiler. Without one the tests run without it, and
# say so; in CI they fail.
RACE       := $(shell [ "$$($(GO) env CGO_ENABLED)" = 0 ] && [ -z "$$CI" ] || echo -race)
GOLANGCI_VERSION := v2.15.0

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## build the program: bin/gateway
	$(GO) build -trimpath -o bin/gateway ./cmd/gateway

.PHONY: run
run: ## run it in front of UPSTREAM, https://api.openai.com by default
	$(GO) run ./cmd/gateway serve --upstream $(UPSTREAM)

.PHONY: demo
demo: ## a real fold on loopback, without network or key
	$(GO) run ./cmd/gateway demo

.PHONY: test
test: redis ## the tests, with real Redis servers on free ports
	@[ -n "$(RACE)" ] || echo "no C compiler: the race detector is off (Debian, Ubuntu: sudo apt-get install gcc libc6-dev)"
	@FOLDGATE_REQUIRE_REDIS=1 $(GO) run ./scripts/testsum $(RACE) -shuffle=on -timeout 20m ./...

.PHONY: test-all
test-all: test check-docs test-browser test-deploy test-clients long ## the tests, pages, browser, deployment, real clients, and the long ones

.PHONY: long
long: ## only the long ones: openapi.yaml's linter, a build where an int has 32 bits, packages compression and middleware whole, every fuzz target for FUZZTIME, every benchmark once
	@$(MAKE) --no-print-directory openapi
	@GOARCH=386 CGO_ENABLED=0 $(GO) build ./...
	@$(GO) test -count=1 ./compression ./middleware
	@scripts/fuzz.sh $(FUZZTIME)
	@$(MAKE) --no-print-directory bench BENCHTIME=1x

.PHONY: test-clients
test-clients: ## real clients, direct and through the gateway, and docs/clients/matrix.md from the run; needs npm
	@FOLDGATE_MATRIX=$(CURDIR)/docs/clients/matrix.md e2e/clients/run.sh

.PHONY: test-clients-opencode
test-clients-opencode: ## another coding agent, which is large and slow to start, through the same task
	@e2e/clients/run.sh opencode

.PHONY: openapi
openapi: ## lint openapi.yaml as OpenAPI 3.1; needs npm
	@scripts/lint-openapi.sh

PROVE_OPS ?= 100000

.PHONY: prove
prove: redis ## linearizability of both stores, PROVE_OPS operations each (100,000 by default), faults and all
	FOLDGATE_REQUIRE_REDIS=1 FOLDGATE_HISTORY_OPS=$(PROVE_OPS) $(GO) test -count=1 -v -run 'TestLinearizable' ./ownership/memstore ./redisstore

.PHONY: mutate
mutate: redis ## every comparison of every Lua script changed in turn: some test must fail for each
	FOLDGATE_REQUIRE_REDIS=1 $(GO) run ./scripts/mutate -workers 2

.PHONY: race
race: redis ## what is concurrent, five times over
	@FOLDGATE_REQUIRE_REDIS=1 $(GO) run ./scripts/testsum -race -shuffle=on -count=5 ./ownership/... ./redisstore/... ./middleware/... ./cmd/...

.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME, 10s by default
	@scripts/fuzz.sh $(FUZZTIME)

.PHONY: bench
bench: ## every benchmark for BENCHTIME, 1s by default
	$(GO) test -run '^$$' -bench . -benchmem -benchtime $(BENCHTIME) ./...

.PHONY: benchstat
benchstat: redis ## the hot paths' benchmarks at OLD (the parent) and NEW (HEAD), in turn, into BENCHDOC; needs benchstat's module
	@BENCHDOC="$(BENCHDOC)" scripts/benchstat.sh $(or $(OLD),HEAD~1) $(or $(NEW),HEAD)

.PHONY: test-browser
test-browser: redis ## the admin plane's page in a real Chromium, in front of real gateways
	@scripts/ensure-chromium.sh
	@cd e2e/browser && $(GO) vet ./... && FOLDGATE_REQUIRE_BROWSER=1 FOLDGATE_REQUIRE_REDIS=1 $(GO) test -count=1 -timeout 10m ./...

SOAK ?= 30m

.PHONY: chaos
chaos: redis ## every fault under load, and its table in docs/reliability.md; its short form is in "make test"
	$(GO) run ./e2e/chaos -o docs/reliability.md

.PHONY: load
load: redis ## 2,000 streams at once, 500 of them oversized, through two replicas; into docs/reliability.md
	$(GO) run ./e2e/chaos -load -o docs/reliability.md

.PHONY: soak
soak: redis ## faults in random order under load for SOAK, 30m by default; into docs/reliability.md
	$(GO) run ./e2e/chaos -for $(SOAK) -o docs/reliability.md

BENCHFLAGS ?=
BENCHDOC   ?= docs/performance.md

.PHONY: bench-peers
bench-peers: redis ## the gateway beside a bare proxy, nginx, Caddy and other gateways, into BENCHDOC; BENCHFLAGS="-quick -only pass" for less
	$(GO) run ./scripts/benchpeers $(if $(BENCHDOC),-o $(BENCHDOC)) $(BENCHFLAGS)

.PHONY: pgo
pgo: redis ## cmd/gateway/default.pgo, by which the program is built from then on, from profiles under the load of bench-peers
	@rm -rf bin/profiles
	$(GO) run ./scripts/benchpeers -quick -only pass,large -profile bin/profiles
	$(GO) tool pprof -proto bin/profiles/*-profile.pprof > bin/default.pgo
	mv bin/default.pgo cmd/gateway/default.pgo

EVALFLAGS ?=

# The one setting for all recordings that measured best.
EVALSHARES ?= -keep-recent 0.10 -deterministic 0.90 -beside-recall 0.80 -recall 0.10

.PHONY: eval
eval: ## what a fold keeps of the recordings in FOLDGATE_TESTDATA; EVALFLAGS="-o docs/fold.md" writes the tables there
	@$(GO) run ./scripts/eval $(EVALSHARES) $(EVALFLAGS)

.PHONY: walk
walk: redis ## the commands of docs/operating.md and docs/library.md as they stand there, on loopback
	@scripts/walk.sh docs/operating.md
	@scripts/walk.sh docs/library.md

.PHONY: test-deploy
test-deploy: ## the Dockerfile, docker-compose.yml and deploy/: read by who reads them in earnest, and run on loopback
	@e2e/deploy/ensure-tools.sh
	@cd e2e/deploy && $(GO) test -count=1 -timeout 15m ./...

.PHONY: check-docs
check-docs: ## the pages: links, names, code and spelling; the spelling needs npm
	@GO="$(GO)" scripts/check-docs.sh

.PHONY: docs
docs: ## docs/configuration.md from the table of settings, and the metrics in docs/operating.md from their catalog
	$(GO) run ./cmd/gateway/internal/config/gen
	$(GO) run ./cmd/gateway/internal/telemetry/gen

.PHONY: backends
backends: ## every imitated backend behind a gateway, and the table of docs/backends.md from what was seen
	FOLDGATE_WRITE_BACKENDS=1 $(GO) test -count=1 -run 'TestBackends$$' ./middleware

.PHONY: cover
cover: redis ## statement coverage by package, and coverage.out
	FOLDGATE_REQUIRE_REDIS=1 $(GO) test -coverprofile coverage.out -coverpkg ./... ./...
	$(GO) tool cover -func coverage.out | tail -n 1

.PHONY: fmt
fmt: ## format all Go code
	gofmt -w .

.PHONY: vet
vet: ## go vet
	$(GO) vet ./...

.PHONY: lint
lint: vet ## formatting, go vet, and golangci-lint where it is installed
	@unformatted=$$(gofmt -l .); \
	if [ -n "$$unformatted" ]; then echo "not formatted (make fmt):"; echo "$$unformatted"; exit 1; fi
	@if command -v golangci-lint >/dev/null; then golangci-lint run; \
	else echo "golangci-lint is not installed; the rest was checked. To have it:"; \
	echo "  $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)"; fi

.PHONY: vuln
vuln: ## known vulnerabilities that the code reaches, by govulncheck; needs its database
	@scripts/supply-chain.sh vulnerabilities

.PHONY: gosec
gosec: ## patterns in our own code that are often mistakes
	@scripts/supply-chain.sh gosec

.PHONY: sbom
sbom: ## every module of the program, as CycloneDX JSON: bin/sbom.json
	@scripts/supply-chain.sh sbom bin/sbom.json

.PHONY: check
check: lint test ## before a commit: lint, tests, and go.mod as go mod tidy leaves it
	$(GO) mod tidy -diff

.PHONY: redis
redis:
	@scripts/ensure-redis.sh
