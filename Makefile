# `make up` runs podlapse on a real node, `make test` runs all tests, and `make help` lists the targets.

# `make matrix` writes its results into the repository. Changes of these results do not add "-dirty" to VERSION,
# because the results are not part of the agent.
VERSION ?= $(shell git describe --tags --always 2>/dev/null || echo unknown)$(shell git status --porcelain \
	--untracked-files=no -- . ':!docs/compatibility.md' ':!lab/compatibility' 2>/dev/null | grep -q . && echo -dirty)
REVISION ?= $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
# The builds of the agent, of the lab and of the node's programs use the same flags. So these builds share compiled
# packages in Go's build cache. The compiler omits the debugging information, because the linker would remove it later.
GOBUILD := -trimpath -gcflags=all=-dwarf=false
LDFLAGS := -s -w -X main.version=$(VERSION) -X main.revision=$(REVISION)
AGENT   := bin/podlapse-agent
LAB     := bin/lab
IMAGE   ?= ghcr.io/podlapse/podlapse
ARCHIVE := bin/podlapse-image.tar
# This archive contains only the image for the architecture of this machine. Building only this image takes half as long
# as building the images for both architectures.
LOCAL_ARCHIVE := bin/podlapse-image-local.tar
# The race detector needs a C compiler.
RACE    := $(if $(shell command -v gcc),-race)
# The tests on a real node need Linux and root.
NODE    := $(shell [ "$$(uname -s)" = Linux ] && [ "$$(id -u)" = 0 ] && echo yes)
# By default, `make fuzz` gives 10000 inputs to each fuzz target. The default is a number of inputs and not a duration.
# Before Go 1.27, a fuzz run with a duration can fail at its end with "context deadline exceeded" (golang/go#75804).
FUZZTIME ?= 10000x
# The scenarios that `make test` runs on the real node. The first scenarios run the agent as a DaemonSet, and all later
# scenarios run the agent as a process. In this order, the lab replaces the DaemonSet with the process only once.
SCENARIOS := rollout install runtime-proxy command-line revisions documentation alerts first-light network-failure serial-queue workload accuracy restart pulls \
	lost-events unpack no-watch costly-namespace prometheus otlp termination rollout-trace life-trace node-impersonation metrics-auth node-health node-startup probes annotations stream-truth page \
	report many-workloads what-if
# $(call CHOICE,NUMBER) is a number from 1 to NUMBER. The number depends on the number of commits and on the day of the
# year. A commit counts twice, so that one commit each day does not skip every second number.
CHOICE = $(shell echo $$(((2 * $$(git rev-list --count HEAD 2>/dev/null || echo 0) + $$(date +%-j)) % $(1) + 1)))
# Each run of `make test` runs only one of these groups of scenarios, so that `make test` takes less time.
# `make test-long` runs all groups. A plus sign separates the scenarios of a group.
ROTATION := alerts stream-truth+prometheus+costly-namespace restart+documentation unpack+node-health+probes+annotations \
	rollout+otlp+termination+rollout-trace+life-trace+node-impersonation
ROTATED  := $(subst +, ,$(ROTATION))
# CHOSEN_GROUP contains the scenarios of the group that this run chooses. SKIPPED contains the scenarios of all other
# groups.
CHOSEN_GROUP = $(subst +, ,$(word $(call CHOICE,$(words $(ROTATION))),$(ROTATION)))
SKIPPED      = $(filter-out $(CHOSEN_GROUP),$(ROTATED))
# The scenario what-if tries several changes to a pod. PODLAPSE_WHAT_IF_PODS is the number of pods for each change. The
# default is 1 in `make test`, and 20 in `make test-long` and `make scenario`. For the changes readiness_period and
# config_present, the scenario uses at least four pods. These pods start at the same time, so they take no longer than
# one pod.
node-test: export PODLAPSE_WHAT_IF_PODS ?= 1

# The tools of `make check`. Make stores the built tools outside the repository. If neither the version of a tool nor
# the version of Go has changed, Make does not build the tool again.
GOLANGCI_LINT_VERSION := v2.15.0
GOVULNCHECK_VERSION   := v1.9.0
TOOLS         := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/podlapse-tools/$(shell go env GOVERSION)
GOLANGCI_LINT := $(TOOLS)/golangci-lint-$(GOLANGCI_LINT_VERSION)/golangci-lint
GOVULNCHECK   := $(TOOLS)/govulncheck-$(GOVULNCHECK_VERSION)/govulncheck

# A stack is a combination of program versions and settings for the node. The variable STACK selects a stack, for
# example `make up STACK=containerd-1.7`. `make stacks` lists the stacks.
ifneq ($(STACK),)
ifneq ($(filter up matrix stack-test,$(MAKECMDGOALS)),)
ifeq ($(filter $(STACK),$(notdir $(basename $(wildcard lab/internal/stack/*.json)))),)
$(error unknown stack "$(STACK)": "make stacks" lists the stacks)
endif
endif
export PODLAPSE_STACK := $(STACK)
endif

.DEFAULT_GOAL := help
.PHONY: FORCE help build image lab up prefetch down status list stacks scenario blame-soak accuracy-page pictures test test-long arm64-test check vet lint vuln unit stress-tests fuzz image-test page-test node-test stack-test matrix compare fleet-cost bench sample-sentences clean

help: ## List the targets.
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## Build bin/podlapse-agent.
	CGO_ENABLED=0 go build $(GOBUILD) -buildvcs=false -ldflags '$(LDFLAGS)' -o $(AGENT) ./cmd/agent

image: bin/.image ## Build the image for amd64 and arm64 as an OCI archive, bin/podlapse-image.tar.
	./image.sh $(IMAGE):$(VERSION) $(VERSION) $(REVISION) $(ARCHIVE)

# Make builds the image again only if the image's name or a source file of the image has changed.
$(ARCHIVE) $(LOCAL_ARCHIVE): Dockerfile .dockerignore image.sh go.mod go.sum $(shell find cmd pkg internal docs -type f -not -name '*_test.go' -not -name '*.md') bin/.image
	./image.sh $(IMAGE):$(VERSION) $(VERSION) $(REVISION) $@
$(LOCAL_ARCHIVE): export PLATFORMS = linux/$(shell go env GOHOSTARCH)

bin/.image: FORCE
	@mkdir -p bin; echo '$(IMAGE):$(VERSION) $(REVISION)' | cmp -s - $@ || echo '$(IMAGE):$(VERSION) $(REVISION)' >$@
FORCE:

lab: ## Build bin/lab, which runs a real Kubernetes node on loopback.
	cd lab && CGO_ENABLED=0 go build $(GOBUILD) -ldflags '-s -w' -o ../$(LAB) .

# `make up` compiles the lab and the agent while it downloads the modules. After the downloads, `make up` builds
# the image. During the build of the image, the lab builds the programs of the node, such as containerd.
up: ## Start a node with the agent and a sample workload (needs root on Linux).
	@$(MAKE) --no-print-directory prefetch & downloads=$$!; trap 'kill $$downloads 2>/dev/null' EXIT; \
	$(MAKE) --no-print-directory lab build && wait $$downloads
	@$(LAB) build & tools=$$!; trap 'kill $$tools 2>/dev/null' EXIT; $(MAKE) --no-print-directory $(LOCAL_ARCHIVE) && wait $$tools
	$(LAB) up --agent $(AGENT) --image $(LOCAL_ARCHIVE) --sample

# `go list` downloads exactly the modules that the build needs. If a download fails, `make prefetch` ignores the
# error. The build step that needs the module reports the error later.
prefetch: ## Download the modules of the node's programs, and install buildah for the image.
	@command -v buildah >/dev/null || ./image.sh prepare >/dev/null 2>&1 || true
	@[ -n "$(STACK)" ] || for module in containerd kubernetes; do (cd lab/tools/$$module && GOFLAGS= go list -deps tool >/dev/null 2>&1) || true; done

down: lab ## Stop the node and remove everything but the cache of built tools.
	$(LAB) down

status: lab ## Show the components, their health and their addresses.
	$(LAB) status

list: lab ## List the scenarios.
	@$(LAB) list

stacks: lab ## List the stacks, the nodes of other versions and settings: make up STACK=containerd-1.7.
	@$(LAB) stacks

scenario: build lab $(LOCAL_ARCHIVE) ## Run one scenario on the node: make scenario NAME=first-light.
	@[ -n "$(NAME)" ] || { echo "name a scenario: make scenario NAME=first-light; make list shows them all" >&2; exit 2; }
	$(LAB) scenario $(NAME) --agent $(AGENT) --image $(LOCAL_ARCHIVE)

blame-soak: build lab ## Run the blame exam with N random faults: make blame-soak N=200.
	PODLAPSE_BLAME_ROWS=$(or $(N),50) $(LAB) scenario blame-soak --agent $(AGENT) $(if $(SEED),--seed $(SEED))

accuracy-page: build lab ## Run the blame exam and write the result to docs/accuracy.md.
	PODLAPSE_ACCURACY_PAGE=$(CURDIR)/docs/accuracy.md $(LAB) scenario blame --agent $(AGENT)

pictures: build lab $(LOCAL_ARCHIVE) ## Retake the pictures of the documents in docs/.
	@set -e; for name in page node-startup command-line; do PODLAPSE_PICTURES=$(CURDIR)/docs $(LAB) scenario $$name --agent $(AGENT) --image $(LOCAL_ARCHIVE); done

compare: build lab ## Compare memory, requests and series with another commit's agent: make compare BEFORE=v0.1.0.
	@[ -n "$(BEFORE)" ] || { echo "name a commit to compare with: make compare BEFORE=v0.1.0" >&2; exit 2; }
	@set -e; dir="$$(mktemp -d)"; trap 'rm -rf "$$dir"' EXIT; \
	git archive $(BEFORE) | tar -x -C "$$dir"; \
	(cd "$$dir" && CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags '$(LDFLAGS)' -o "$$dir/podlapse-agent" ./cmd/agent); \
	$(LAB) scenario compare --agent $(AGENT) --before "$$dir/podlapse-agent"

fleet-cost: build lab ## Measure how the agents' cost for the API server grows with the number of nodes.
	$(LAB) scenario fleet-cost --agent $(AGENT)

matrix: build lab $(LOCAL_ARCHIVE) ## Run the scenarios of docs/compatibility.md on each stack, or on one: make matrix STACK=containerd-1.7.
	@status=0; $(LAB) matrix --agent $(AGENT) --image $(LOCAL_ARCHIVE) --results lab/compatibility || status=1; \
	(cd lab && go test ./internal/matrix -run TestPageAgreesWithResults -update) && exit $$status

# `make test` does not run `make check`, because the first run of `make check` must download and build its tools.
test: vet unit fuzz image-test page-test node-test stack-test ## Run all tests, as continuous integration does.

test-long: build lab $(if $(NODE),$(ARCHIVE)) ## Run the slow scenarios: those that `make test` rotates, the blame exam, 50 random faults, a hostile tenant, 30 minutes without an alert, 100 predictions.
ifeq ($(NODE),yes)
	@set -e; trap '$(LAB) down' EXIT; $(LAB) down; $(LAB) up --agent $(AGENT) --image $(ARCHIVE); \
	for name in $(ROTATED) blame blame-soak hostile-tenant churn what-if; do $(LAB) scenario $$name --agent $(AGENT) --image $(ARCHIVE); done
else
	@echo "skipped the long tests on a real node: they need root on Linux"
endif

# An emulator runs the tests. The emulator is about ten times slower than the machine.
arm64-test: ## Test the core, the runtime source and the program's start on emulated arm64 (installs qemu-user-static).
	@command -v qemu-aarch64-static >/dev/null || { apt-get -o DPkg::Lock::Timeout=300 update -q && \
		DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -y -q --no-install-recommends qemu-user-static; }
	CGO_ENABLED=0 GOARCH=arm64 go test -short -timeout 40m -exec qemu-aarch64-static ./pkg/timeline ./pkg/cri ./pkg/imagepull
	CGO_ENABLED=0 GOARCH=arm64 go build $(GOBUILD) -buildvcs=false -ldflags '$(LDFLAGS)' -o bin/podlapse-agent-arm64 ./cmd/agent
	qemu-aarch64-static bin/podlapse-agent-arm64 version

check: vet lint vuln ## Run all static checks.

vet: ## Check the formatting and run go vet.
	@unformatted="$$(gofmt -l cmd pkg internal lab)"; [ -z "$$unformatted" ] || { echo "run gofmt -w on:" $$unformatted >&2; exit 1; }
	go vet ./...
	cd lab && go vet ./...
	cd lab/tools/otlp && go vet ./...

lint: $(GOLANGCI_LINT) ## Run golangci-lint on both modules; LINTFLAGS='--disable lll' ignores long lines.
	@status=0; for module in . lab; do (set -x; cd $$module && $(GOLANGCI_LINT) run $(LINTFLAGS) ./...) || status=1; done; exit $$status

$(GOLANGCI_LINT):
	GOBIN=$(@D) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION)

# govulncheck exits with status 1 if it cannot read its database, and with status 3 if it finds vulnerabilities.
vuln: $(GOVULNCHECK) ## Report known vulnerabilities in code that is called; skipped if the database is unreachable.
	@for module in . lab; do \
		if output="$$(cd $$module && $(GOVULNCHECK) ./... 2>&1)"; then echo "$$module: $$output"; \
		elif echo "$$output" | grep -q 'fetching vulnerabilities:'; then \
			echo "SKIPPED govulncheck: cannot reach the vulnerability database at https://vuln.go.dev" >&2; exit 0; \
		else echo "$$module: $$output" >&2; exit 1; fi; \
	done

$(GOVULNCHECK):
	GOBIN=$(@D) go install golang.org/x/vuln/cmd/govulncheck@$(GOVULNCHECK_VERSION)

# The lab's tests read files outside their module, such as manifests/. Go's test cache does not notice changes to files
# outside the module. So the lab's tests run with -count=1. The packages in ONE_GOROUTINE and ONE_GOROUTINE_LAB, and
# their tests, use only one goroutine. The race detector would make these tests five times slower, so Make runs these
# tests without the race detector.
ONE_GOROUTINE     := ./pkg/timeline ./internal/whatif
ONE_GOROUTINE_LAB := ./internal/manifests ./internal/monitoring
unit: ## Run the tests that need no node.
	go test $(RACE) $$(go list ./... | grep -v $(ONE_GOROUTINE:./%=-e /%$$))
	go test $(ONE_GOROUTINE)
	cd lab && go test -count=1 $(RACE) $$(go list ./... | grep -v $(ONE_GOROUTINE_LAB:./%=-e /%$$))
	cd lab && go test -count=1 $(ONE_GOROUTINE_LAB)

# Linking a test program takes as long as running it, so Make builds each test program once and runs it N times.
stress-tests: ## Run the tests that need no node N=10 times, each program on one thread, in random order, while each core also runs two busy loops.
	@set -e; work="$$(mktemp -d)"; loops=; trap 'kill $$loops 2>/dev/null; rm -rf "$$work"' EXIT; trap 'exit 1' INT TERM; \
	for module in lab .; do \
		(cd $$module; go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.Dir}}{{end}}' ./... | while read -r dir; do \
			program="$$work/$$(echo "$$dir" | tr / _)"; go test -c -o "$$program" "$$dir"; echo "$$program $$dir" >>"$$work/programs"; \
		done); \
	done; \
	for _ in $$(seq $$((2 * $$(nproc)))); do while :; do :; done & loops="$$loops $$!"; done; \
	status=0; for run in $$(seq $(or $(N),10)); do \
		began="$$(date +%s)"; \
		xargs -n 2 -P $$((2 * $$(nproc))) sh -c 'cd "$$2" && GOMAXPROCS=1 "$$1" -test.shuffle=on -test.timeout=30m >"$$1.log" 2>&1 || \
			{ cat "$$1.log"; echo "FAIL $$2"; exit 1; }' sh <"$$work/programs" || status=1; \
		echo "run $$run took $$(($$(date +%s) - began)) s"; \
	done; exit $$status

fuzz: ## Run each fuzz target with FUZZTIME=10000x inputs, or for a duration such as FUZZTIME=30s.
	@set -e; grep -rl '^func Fuzz' --include='*_test.go' pkg internal | while read -r file; do \
		for target in $$(sed -n 's/^func \(Fuzz[A-Za-z]*\)(.*/\1/p' "$$file"); do \
			echo "fuzz $$target in $$(dirname "$$file") for $(FUZZTIME)"; \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1x "./$$(dirname "$$file")"; \
		done; \
	done

image-test: build ## Test that the image is reproducible and holds only the program and certificates.
ifeq ($(NODE),yes)
	@set -e; copy="$$(mktemp -d)"; trap 'rm -rf "$$copy"' EXIT; \
	cp -r Dockerfile .dockerignore image.sh go.mod go.sum cmd pkg internal docs "$$copy"; \
	export SOURCE_DATE_EPOCH="$$(git log -1 --format=%ct 2>/dev/null || echo 0)"; \
	$(MAKE) --no-print-directory image; \
	"$$copy/image.sh" $(IMAGE):$(VERSION) $(VERSION) $(REVISION) "$$copy/again.tar"; \
	cd lab; go test -count=1 ./internal/agentimage -args -archive ../../../$(ARCHIVE) -again "$$copy/again.tar" \
		-agent ../../../$(AGENT) -version $(VERSION)
else
	@echo "skipped the test of the image: it needs root on Linux"
endif

page-test: ## Test the page in a real browser, with made-up start-ups.
ifeq ($(NODE),yes)
	cd lab && go test -count=1 -v ./internal/page -args -browser
else
	@echo "skipped the test of the page: it needs root on Linux, to install a browser and to run it"
endif

node-test: build lab $(if $(NODE),$(ARCHIVE)) ## Run the scenarios on a real node (needs root on Linux).
ifeq ($(NODE),yes)
	@set -e; trap '$(LAB) down' EXIT; $(LAB) down; $(LAB) up --agent $(AGENT) --image $(ARCHIVE) --sample; \
	for name in $(filter-out $(SKIPPED),$(SCENARIOS)); do $(LAB) scenario $$name --agent $(AGENT) --image $(ARCHIVE); done
else
	@echo "skipped the tests on a real node: they need root on Linux"
endif

# Each run of `make test` also runs a few scenarios on one other stack. The choice of the stack changes, so that every
# stack is tested from time to time. The stack containerd-1.6-debian needs a package of Debian 12.
DEBIAN := $(shell . /etc/os-release 2>/dev/null; echo "$$ID-$$VERSION_ID")
STACKS := $(filter-out current $(if $(filter debian-12,$(DEBIAN)),,containerd-1.6-debian),$(sort $(notdir $(basename $(wildcard lab/internal/stack/*.json)))))
NEXT_STACK = $(word $(call CHOICE,$(words $(STACKS))),$(STACKS))
stack-test: build lab ## Run a few scenarios on one other stack, chosen by rotation: make stack-test STACK=containerd-1.7.
ifeq ($(NODE),yes)
	@set -e; name=$(or $(STACK),$(NEXT_STACK)); echo "trying the stack $$name; to repeat: make stack-test STACK=$$name"; \
	trap '$(LAB) down' EXIT; $(LAB) down; $(LAB) up --stack $$name --agent $(AGENT); \
	for scenario in first-light lost-events $$([ "$$name" != stargz ] || echo lazy-pull); do $(LAB) scenario $$scenario --agent $(AGENT); done
else
	@echo "skipped the test of another stack: it needs root on Linux"
endif

bench: ## Run the benchmarks; benchstat compares two runs.
	go test -run '^$$' -bench . -benchmem ./...

sample-sentences: ## Print N=30 random sentences of each kind, to review the language: make sample-sentences SEED=7.
	@cd lab && go run ./cmd/sentences -seed $(or $(SEED),1) -n $(or $(N),30)

clean: ## Remove bin/; caches outside the repository stay.
	rm -rf bin
