# podlapse: `make up` shows it at work on a real node, `make test` runs everything.
# `make help` lists the targets.

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
REVISION ?= $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
LDFLAGS := -s -w -X main.version=$(VERSION) -X main.revision=$(REVISION)
AGENT   := bin/podlapse-agent
LAB     := bin/lab
IMAGE   ?= ghcr.io/podlapse/podlapse
ARCHIVE := bin/podlapse-image.tar
# The race detector needs a C compiler.
RACE    := $(if $(shell command -v gcc),-race)
# A real node needs Linux and root.
NODE    := $(shell [ "$$(uname -s)" = Linux ] && [ "$$(id -u)" = 0 ] && echo yes)
# How many inputs `make test` tries to break each parser and the fold with; more finds more. Not a time: until Go 1.27 a
# run that its time ends may fail with "context deadline exceeded" (golang/go#75804).
FUZZTIME ?= 10000x
# The scenarios that `make test` runs on the real node: first those for which the agent is the DaemonSet, so that it changes
# only once.
SCENARIOS := rollout install runtime-proxy command-line alerts first-light network-failure serial-queue accuracy restart pulls \
	lost-events unpack no-watch prometheus otlp termination rollout-trace life-trace node-impersonation metrics-auth node-health probes annotations stream-truth page

.DEFAULT_GOAL := help
.PHONY: FORCE help build image lab up down status list scenario blame-soak accuracy-page test test-long check unit fuzz image-test page-test node-test compare bench clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build bin/podlapse-agent
	CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags '$(LDFLAGS)' -o $(AGENT) ./cmd/agent

image: bin/.image ## build the image for amd64 and arm64 as an OCI archive, bin/podlapse-image.tar
	./image.sh $(IMAGE):$(VERSION) $(VERSION) $(REVISION) $(ARCHIVE)

# The image, unless it is there and neither its files nor its name have changed.
$(ARCHIVE): Dockerfile .dockerignore image.sh go.mod go.sum $(shell find cmd pkg -type f -not -name '*_test.go') bin/.image
	./image.sh $(IMAGE):$(VERSION) $(VERSION) $(REVISION) $(ARCHIVE)

bin/.image: FORCE
	@mkdir -p bin; echo '$(IMAGE):$(VERSION) $(REVISION)' | cmp -s - $@ || echo '$(IMAGE):$(VERSION) $(REVISION)' >$@
FORCE:

lab: ## build bin/lab, the program that runs a real node on loopback
	cd lab && CGO_ENABLED=0 go build -trimpath -o ../$(LAB) .

up: build lab $(ARCHIVE) ## start a real node with the agent on it and a sample workload (root on Linux)
	$(LAB) up --agent $(AGENT) --image $(ARCHIVE) --sample

down: lab ## stop the node and leave nothing behind
	$(LAB) down

status: lab ## tell what runs and where
	$(LAB) status

list: lab ## list the scenarios
	@$(LAB) list

scenario: build lab $(ARCHIVE) ## run one scenario on the real node: make scenario NAME=first-light
	@[ -n "$(NAME)" ] || { echo "name a scenario: make scenario NAME=first-light; make list shows them all" >&2; exit 2; }
	$(LAB) scenario $(NAME) --agent $(AGENT) --image $(ARCHIVE)

blame-soak: build lab ## the blame exam with faults that are drawn: make blame-soak N=200
	PODLAPSE_BLAME_ROWS=$(or $(N),50) $(LAB) scenario blame-soak --agent $(AGENT) $(if $(SEED),--seed $(SEED))

accuracy-page: build lab ## run the blame exam and write its result to docs/accuracy.md
	PODLAPSE_ACCURACY_PAGE=$(CURDIR)/docs/accuracy.md $(LAB) scenario blame --agent $(AGENT)

compare: build lab ## memory, requests and series of this agent beside one of another commit, on the real node: make compare BEFORE=v0.1.0
	@[ -n "$(BEFORE)" ] || { echo "name a commit to compare with: make compare BEFORE=v0.1.0" >&2; exit 2; }
	@set -e; dir="$$(mktemp -d)"; trap 'rm -rf "$$dir"' EXIT; \
	git archive $(BEFORE) | tar -x -C "$$dir"; \
	(cd "$$dir" && CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags '$(LDFLAGS)' -o "$$dir/podlapse-agent" ./cmd/agent); \
	$(LAB) scenario compare --agent $(AGENT) --before "$$dir/podlapse-agent"

test: check unit fuzz image-test page-test node-test ## run everything

test-long: build lab ## what takes too long for every change: the blame exam, 50 rows that are drawn, a hostile tenant
ifeq ($(NODE),yes)
	@set -e; trap '$(LAB) down' EXIT; $(LAB) down; $(LAB) up --agent $(AGENT); \
	for name in blame blame-soak hostile-tenant; do $(LAB) scenario $$name --agent $(AGENT); done
else
	@echo "skipped the long tests on a real node: they need root on Linux"
endif

check: ## formatting and vet
	@unformatted="$$(gofmt -l cmd pkg lab)"; [ -z "$$unformatted" ] || { echo "run gofmt -w on:" $$unformatted >&2; exit 1; }
	go vet ./...
	cd lab && go vet ./...
	cd lab/tools/otlp && go vet ./...

# Go keeps results without a look at files outside of the module, as manifests/ are for the lab.
unit: ## tests that need no node
	go test $(RACE) ./...
	cd lab && go test -count=1 $(RACE) ./...

fuzz: ## each fuzz target for FUZZTIME inputs, or so long
	@set -e; grep -rl '^func Fuzz' --include='*_test.go' pkg | while read -r file; do \
		for target in $$(sed -n 's/^func \(Fuzz[A-Za-z]*\)(.*/\1/p' "$$file"); do \
			echo "fuzz $$target in $$(dirname "$$file") for $(FUZZTIME)"; \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1x "./$$(dirname "$$file")"; \
		done; \
	done

image-test: build ## the image: the same twice, and nothing but the program and certificates in it
ifeq ($(NODE),yes)
	@set -e; copy="$$(mktemp -d)"; trap 'rm -rf "$$copy"' EXIT; \
	cp -r Dockerfile .dockerignore image.sh go.mod go.sum cmd pkg docs "$$copy"; \
	export SOURCE_DATE_EPOCH="$$(git log -1 --format=%ct 2>/dev/null || echo 0)"; \
	$(MAKE) --no-print-directory image; \
	"$$copy/image.sh" $(IMAGE):$(VERSION) $(VERSION) $(REVISION) "$$copy/again.tar"; \
	cd lab; go test -count=1 ./internal/agentimage -args -archive ../../../$(ARCHIVE) -again "$$copy/again.tar" \
		-agent ../../../$(AGENT) -version $(VERSION)
else
	@echo "skipped the test of the image: it needs root on Linux"
endif

page-test: ## the page in a real browser, over made-up start-ups: load, hostile names, proxies, keys
ifeq ($(NODE),yes)
	cd lab && go test -count=1 -v ./internal/page -args -browser
else
	@echo "skipped the test of the page: it needs root on Linux, to install a browser and to run it"
endif

node-test: build lab $(if $(NODE),$(ARCHIVE)) ## the scenarios on a real node
ifeq ($(NODE),yes)
	@set -e; trap '$(LAB) down' EXIT; $(LAB) down; $(LAB) up --agent $(AGENT) --image $(ARCHIVE) --sample; \
	for name in $(SCENARIOS); do $(LAB) scenario $$name --agent $(AGENT) --image $(ARCHIVE); done
else
	@echo "skipped the tests on a real node: they need root on Linux"
endif

bench: ## benchmarks; compare two runs with benchstat
	go test -run '^$$' -bench . -benchmem ./...

clean: ## remove what was built; the lab's cache stays
	rm -rf bin
