# podlapse: `make up` shows it at work on a real node, `make test` runs everything.
# `make help` lists the targets.

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
REVISION ?= $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
LDFLAGS := -s -w -X main.version=$(VERSION) -X main.revision=$(REVISION)
AGENT   := bin/podlapse-agent
LAB     := bin/lab
# The race detector needs a C compiler.
RACE    := $(if $(shell command -v gcc),-race)
# A real node needs Linux and root.
NODE    := $(shell [ "$$(uname -s)" = Linux ] && [ "$$(id -u)" = 0 ] && echo yes)
# How long `make test` looks for input that breaks a parser or the fold; more finds more.
FUZZTIME ?= 5s
# The scenarios that `make test` runs on the real node.
SCENARIOS := first-light network-failure serial-queue accuracy restart pulls pulls-no-events pulls-no-runtime \
	lost-events unpack no-watch prometheus otlp node-impersonation metrics-auth

.DEFAULT_GOAL := help
.PHONY: help build lab up down status list scenario test check unit fuzz node-test bench clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build bin/podlapse-agent
	CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o $(AGENT) ./cmd/agent

lab: ## build bin/lab, the program that runs a real node on loopback
	cd lab && CGO_ENABLED=0 go build -trimpath -o ../$(LAB) .

up: build lab ## start a real node with the agent on it and a sample workload (root on Linux)
	$(LAB) up --agent $(AGENT) --sample

down: lab ## stop the node and leave nothing behind
	$(LAB) down

status: lab ## tell what runs and where
	$(LAB) status

list: lab ## list the scenarios
	@$(LAB) list

scenario: build lab ## run one scenario on the real node: make scenario NAME=first-light
	@[ -n "$(NAME)" ] || { echo "name a scenario: make scenario NAME=first-light; make list shows them all" >&2; exit 2; }
	$(LAB) scenario $(NAME) --agent $(AGENT)

test: check unit fuzz node-test ## run everything

check: ## formatting and vet
	@unformatted="$$(gofmt -l cmd pkg lab)"; [ -z "$$unformatted" ] || { echo "run gofmt -w on:" $$unformatted >&2; exit 1; }
	go vet ./...
	cd lab && go vet ./...
	cd lab/tools/otlp && go vet ./...

unit: ## tests that need no node
	go test $(RACE) ./...
	cd lab && go test $(RACE) ./...

fuzz: ## each fuzz target for FUZZTIME
	@set -e; grep -rl '^func Fuzz' --include='*_test.go' pkg | while read -r file; do \
		for target in $$(sed -n 's/^func \(Fuzz[A-Za-z]*\)(.*/\1/p' "$$file"); do \
			echo "fuzz $$target in $$(dirname "$$file") for $(FUZZTIME)"; \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1x "./$$(dirname "$$file")"; \
		done; \
	done

node-test: build lab ## the scenarios on a real node
ifeq ($(NODE),yes)
	@set -e; trap '$(LAB) down' EXIT; $(LAB) down; $(LAB) up --agent $(AGENT) --sample; \
	for name in $(SCENARIOS); do $(LAB) scenario $$name --agent $(AGENT); done
else
	@echo "skipped the tests on a real node: they need root on Linux"
endif

bench: ## benchmarks; compare two runs with benchstat
	go test -run '^$$' -bench . -benchmem ./...

clean: ## remove what was built; the lab's cache stays
	rm -rf bin
