// Package scenario holds the lab's scenarios: each injects faults whose size is known, and compares
// what the agent makes of them with the truth.
//
// A new scenario is one file with a function of type Run and one row in Table.
package scenario

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/node"
)

// Run injects and measures on a fresh bench. An error means that it could not be carried out; a
// disagreement between agent and truth goes into the verdict.
type Run func(ctx context.Context, b *bench.Bench, v *Verdict) error

// Scenario is one row of the table.
type Scenario struct {
	Name    string
	Summary string // one line
	Run     Run
	// Deployed says that the agent is that of the DaemonSet; else it runs as a process, which can be killed and given flags.
	Deployed bool
}

// Choice is what a scenario is played with.
type Choice struct {
	Seed   uint64 // decides what the scenario leaves to chance; 0 draws one
	Before string // the other agent's program, for Compare
}

// Table lists all scenarios in the order in which a person would try them.
func Table() []Scenario {
	return []Scenario{
		{"rollout", "pods start while the DaemonSet is restarted three times: none lost, none told twice", rollout, true},
		{"install", "the API server takes every overlay and the chart; the agent uses all of its rights and no other", install, true},
		{"runtime-proxy", "the runtime's socket in a container of its own: timelines as ever, and no other way to the runtime for the agent", runtimeProxy, true},
		{"command-line", "kubectl podlapse and the page, through the API server: a pod that starts, and one that was deleted", commandLine, true},
		{"alerts", "a slow registry and a slow node: Prometheus, with the rules as they are, tells which", alerts, true},
		{"first-light", "one pod of every ingredient: slow network, slow pull, init container, sidecar, readiness", firstLight, false},
		{"network-failure", "a network plugin that fails at first: the network is to blame, not the volumes", networkFailure, false},
		{"serial-queue", "four pods, four cold images, one pull at a time: who waited, and who pulled", serialQueue, false},
		{"accuracy", "20 pods, every fault alone and all together: phases to 50 ms, stamps within their stated error", accuracy, false},
		{"restart", "40 pods while the agent is killed 50 times: each reported once, with the phases it had", restart, false},
		{"pulls", "every way in which an image comes or fails to come: outcome, queue, pull, attempts, failure", pulls, false},
		{"lost-events", "ten cold images in one pod, of whose Events kubelet drops some: each pull told, the losses exactly", lostEvents, false},
		{"unpack", "a slow registry, a slow unpacking, and both at once: who is to blame for which second", unpack, false},
		{"no-watch", "30 pods with present images open no Event watch, a cold one opens one and closes it", noWatch, false},
		{"prometheus", "a real Prometheus scrapes the agent: quantiles, native histograms, exemplars, series that end, lint", scrape, false},
		{"otlp", "the collector's receiver takes traces: trees, IDs, times, failures, parents; restarts and a receiver that is gone", traces, false},
		{"termination", "pods that are deleted: one that ignores its signal, a hook, a sidecar: how each container stopped, and when", termination, false},
		{"rollout-trace", "a Deployment's pods, and the end of one, as one connected trace in the collector's receiver", rolloutAsOneTrace, false},
		{"life-trace", "a container that crashes again and again, an agent that is killed, and the end: runs and Events in the pod's trace, each once", lifeTrace, false},
		{"node-impersonation", "an agent that asks as its node: its own pods and no other's, no secrets", nodeImpersonation, false},
		{"metrics-auth", "metrics for whom the API server lets read them, and nobody else; hostile requests refused at little cost", metricsAuth, false},
		{"annotations", "pods that ask to be annotated while the agent is killed and others write: each once, and what the policy refuses", annotations, false},
		{"stream-truth", "a watch that is behind and loses changes, an API server that is away: what the agent finds, repairs, and how late it says it was", streamTruth, false},
		{"node-health", "cordon, NotReady, an add-on in a crash loop, and the machine under pressure: each told, with the reason", nodeHealth, false},
		{"probes", "names, registries, the runtime and the API server are asked: what is well, slow, silent and dead, and in which stage", probes, false},
		{"page", "a real browser shows the page while pods start: rows, waterfalls, addresses, policy, pictures", showPage, false},
		{"blame", "the exam: start-ups with a known culprit, and whom the agent blames for each second", blameExam, false},
		{"blame-soak", "the exam with faults that are drawn, as many rows as PODLAPSE_BLAME_ROWS says", blameSoak, false},
		{"hostile-tenant", "honest pods alone and beside a tenant with the role edit that attacks the agent: the same timelines, bounded memory", hostileTenant, false},
		{Compare, "the agent beside another one, both with nothing switched on: memory, requests and series", compare, false},
		{"event-cost", "hundreds of pods, 20 a second, 16 Events each: what an agent costs the API server", eventCost, false},
	}
}

// Names are the names of the table.
func Names() []string {
	var names []string
	for _, s := range Table() {
		names = append(names, s.Name)
	}
	return names
}

// ErrDisagree says that the agent and the truth differ by more than the limit. What wraps it says where.
var ErrDisagree = errors.New("the agent disagrees with the truth")

// purpose marks the namespaces of scenarios.
const purpose = "scenario"

// Play runs one scenario on a node that is up and prints what came out. Whatever happens, faults and
// namespace are gone afterwards.
func Play(ctx context.Context, n node.Node, s Scenario, choice Choice, out io.Writer) error {
	release, err := n.Hold(ctx) // two scenarios at once would spoil each other's numbers
	if err != nil {
		return err
	}
	defer release()
	if err := bench.ClearAll(ctx, n, purpose); err != nil {
		return fmt.Errorf("clear earlier scenarios: %w", err)
	}
	if err := n.StopPrometheus(); err != nil { // up's, which would take time from what is measured
		return fmt.Errorf("prepare scenario %s: %w", s.Name, err)
	}
	startedAt := time.Now()
	b, err := bench.Set(ctx, n, bench.FreshName(s.Name), purpose)
	if b != nil {
		defer clear(b)
	}
	if err != nil {
		return fmt.Errorf("prepare scenario %s: %w", s.Name, err)
	}
	if b.Seed, b.Before = choice.Seed, choice.Before; b.Seed == 0 {
		b.Seed = uint64(rand.Uint32()) // short enough to be typed again
	}
	n.Report.Say("scenario %s in namespace %s", s.Name, b.Namespace)
	verdict := &Verdict{}
	if err = s.Run(ctx, b, verdict); err == nil {
		err = judgeRecords(b.Observer, verdict)
	}
	if ctx.Err() != nil {
		return fmt.Errorf("scenario %s: %w", s.Name, context.Cause(ctx))
	}
	verdict.Print(out)
	if err == nil && !verdict.Failed() {
		fmt.Fprintf(out, "%s: passed in %s\n", s.Name, time.Since(startedAt).Round(time.Second))
		return nil
	}
	fmt.Fprintf(out, "%s: FAILED after %s\n", s.Name, time.Since(startedAt).Round(time.Second))
	explain(ctx, b, out)
	if err != nil {
		return fmt.Errorf("scenario %s: %w", s.Name, err)
	}
	// The end of a long output is what people see first, and sometimes all that is kept of it.
	return fmt.Errorf("scenario %s: %w:\n  %s", s.Name, ErrDisagree, strings.Join(verdict.Wrong(), "\n  "))
}

// clear gets a context of its own: an interrupted scenario has to clear, too.
func clear(b *bench.Bench) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if err := b.Clear(ctx); err != nil {
		b.Node.Report.Say("clearing namespace %s: %v", b.Namespace, err)
	}
}
