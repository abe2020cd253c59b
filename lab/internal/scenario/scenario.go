// Package scenario contains the lab's scenarios. Each scenario injects faults of known size, and compares the agent's
// reports with the truth.
//
// To add a scenario, add one file with a function of type Run, and add one row to Table.
package scenario

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/node"
)

// Run is the function of a scenario. It injects faults on a new bench, which contains the resources of the scenario on
// the node. Then it measures the results. An error means that the scenario could not run. The verdict contains the
// differences between the agent's reports and the truth.
type Run func(ctx context.Context, b *bench.Bench, v *Verdict) error

// Scenario is one row of the table.
type Scenario struct {
	Name    string
	Summary string // description in one line
	Run     Run
	// Deployed is true if the agent runs as a DaemonSet, and false if it runs as a process. If the agent runs as a
	// process, a scenario can kill it and start a new process with other flags.
	Deployed bool
}

// Choice contains the arguments of a run.
type Choice struct {
	Seed   uint64 // seed for all random choices; 0 means a new random seed
	Before string // path of the other agent program for the scenario "compare"
}

// Table lists all scenarios. The scenarios that run the agent as a DaemonSet come first, and the scenarios that measure
// the cost of agents come last.
func Table() []Scenario {
	return slices.Concat([]Scenario{
		{"rollout", "restart the DaemonSet three times while pods start: each start-up is reported exactly once",
			rollout, true},
		{"install", "apply every overlay and the chart: the API server accepts them, and the agent uses exactly its " +
			"permissions", install, true},
		{"runtime-proxy", "a separate container holds the runtime's socket: same timelines, and the agent cannot " +
			"reach the runtime otherwise", runtimeProxy, true},
		{"command-line", "kubectl podlapse and the page, for a starting and a deleted pod", commandLine, true},
		{"revisions", "three revisions of a Deployment: kubectl podlapse explain finds the slow revision and the " +
			"reasons, and no difference between equal revisions", revisions, true},
		{"documentation", "every command in README.md and docs, except those marked as not run, works as documented",
			documentation, true},
		{"alerts", "seven situations of docs/monitoring.md: Prometheus, with the rules of the manifests, fires " +
			"exactly the right alerts", alerts, true},
		{"first-light", "a slow network and pull, an init container, a sidecar and late readiness", firstLight, false},
		{"network-failure", "the network plugin fails at first: the agent reports the network as the cause, not the " +
			"volumes", networkFailure, false},
		{"serial-queue", "four pods with cold images and one pull at a time: which pods waited, and which pods pulled",
			serialQueue, false},
		{"workload", "pods of one Deployment with and without a pull: explain reports percentiles, true means by " +
			"cause, and what makes the difference", explainWorkload, false},
		{"what-if", "slow pods, and the same pods after five real changes: the new start-ups lie in the predicted " +
			"intervals; PODLAPSE_WHAT_IF_PODS sets the number of pods of each change", whatIf, false},
		{"report", "a slow registry, a large image, a missing ConfigMap and a slow node: the report names them, also " +
			"from Prometheus and after a restart of the agent", report, false},
		{"accuracy", "20 pods, each fault alone and all together: phases within 50 ms, timestamps within their " +
			"error bounds", accuracy, false},
		{"restart", "kill the agent 50 times while 40 pods start: each pod is reported once, with its true phases",
			restart, false},
		{"pulls", "every way in which a pull can succeed or fail: outcome, queue, duration, attempts, failure", pulls,
			false},
		{"lost-events", "the kubelet drops some Events of a pod with ten cold images: the agent reports all pulls, " +
			"and exactly the lost Events", lostEvents, false},
		{"unpack", "a slow registry, slow unpacking, and both at once: each second has the right cause",
			unpack, false},
		{"lazy-pull", "on the stack stargz, images with mounted layers: the agent reports no rate, no unpacking, and " +
			"no bytes that did not arrive", lazyPull, false},
		{"no-watch", "30 pods with present images open no Event watch; a pod with a cold image opens an Event " +
			"watch, which is closed later", noWatch, false},
		{"costly-namespace", "many pods of one namespace start on another node: the agent stops its Event watches " +
			"there, and timelines say what is missing", costlyNamespace, false},
		{"prometheus", "a real Prometheus scrapes the agent: quantiles, native histograms, exemplars, ending series, " +
			"lint", scrape, false},
		{"otlp", "the collector's receiver gets traces: trees, IDs, times, failures, parents, after restarts and " +
			"without a receiver", traces, false},
		{"termination", "deleted pods that ignore their stop signal, or have a hook or a sidecar: how and when each " +
			"container stopped", termination, false},
		{"rollout-trace", "the pods of a Deployment, and the termination of one, as one connected trace in the " +
			"collector's receiver", rolloutAsOneTrace, false},
		{"life-trace", "a crashing container, a killed agent, a deletion: runs and Events are in the pod's trace, " +
			"each once", lifeTrace, false},
		{"node-impersonation", "an agent that impersonates its node: it may read its own pods, but no other pods and " +
			"no Secrets", nodeImpersonation, false},
		{"metrics-auth", "only accounts with permission can read the metrics; hostile requests are refused at little " +
			"cost", metricsAuth, false},
		{"annotations", "pods request annotations while the agent is killed and other clients write: the agent " +
			"writes each annotation once; the policy refuses other requests", annotations, false},
		{"stream-truth", "a watch that is late or loses changes, and an API server outage: the agent finds, repairs " +
			"and measures the errors", streamTruth, false},
		{"node-health", "cordon, NotReady, a crashing add-on, a busy machine: each is reported with its reason",
			nodeHealth, false},
		{"node-startup", "the parts of a node start one after the other, and a start-up taint stays: each second of " +
			"the node's start-up has the right cause", nodeStartUp, false},
		{"probes", "probes of DNS, registries, the runtime and the API server: the agent reports slow, silent and " +
			"unavailable targets in the right stage", probes, false},
		{"page", "a real browser shows the page while pods start: rows, waterfalls, addresses, policy, pictures",
			showPage, false},
		{"blame", "the exam: start-ups with a known cause; the agent must report the right cause for each second",
			blameExam, false},
		{"blame-soak", "the exam with randomly drawn faults; PODLAPSE_BLAME_ROWS sets their number", blameSoak, false},
		{"churn", "half an hour of rollouts, jobs, crashes and cold images: Prometheus, with the rules of the " +
			"manifests, fires no alert; PODLAPSE_CHURN_MINUTES sets the length", churn, false},
		{"hostile-tenant", "honest pods alone and next to a tenant that attacks the agent: same timelines, limited " +
			"memory", hostileTenant, false},
		{Compare, "the agent alongside another version, both with default flags: memory, requests and series", compare,
			false},
	}, costScenarios())
}

// costScenarios lists the scenarios that measure the cost of agents.
func costScenarios() []Scenario {
	return []Scenario{
		{"agent-cost", "what one agent costs on a real node: CPU of a start, compared with a bare reflector; " +
			"memory with 110 pods, CPU of an idle agent, series", agentCost, false},
		{"agent-memory", "memory of an agent that starts on a node with 500 large pods, with streaming and paged lists",
			agentMemory, false},
		{"many-workloads", "500 pods of 60 Deployments on one node: report and explain respond within two seconds, " +
			"the API returns pages, limited memory", manyWorkloads, false},
		{"fleet-cost", "250, 500 and 1000 agents: how their cost for the API server and etcd grows, extrapolated to " +
			"5000 agents", fleetCost, false},
		{"event-cost", "2 and 20 starts a second in namespaces with 0 to 50,000 Events: what an agent costs the API " +
			"server and etcd; PODLAPSE_EVENT_COST=quick measures less", eventCost, false},
	}
}

// Names returns the names of the scenarios in the table.
func Names() []string {
	var names []string
	for _, s := range Table() {
		names = append(names, s.Name)
	}
	return names
}

// ErrDisagree means that the agent's report differs from the truth by more than the limit. Play wraps ErrDisagree in an
// error that lists the differences.
var ErrDisagree = errors.New("the agent's report differs from the truth")

// purpose marks the namespaces that belong to scenarios.
const purpose = "scenario"

// Play runs one scenario on a running node and prints the result. Play returns the scenario's values for
// docs/compatibility.md. At the end, Play always removes the faults and the namespace.
func Play(
	ctx context.Context, n node.Node, s Scenario, choice Choice, out io.Writer,
) (figures map[string]string, err error) {
	release, err := n.Hold(ctx) // two concurrent scenarios would distort each other's measurements
	if err != nil {
		return nil, err
	}
	defer release()
	if err := bench.ClearAll(ctx, n, purpose); err != nil {
		return nil, fmt.Errorf("remove the objects of earlier scenarios: %w", err)
	}
	// The lab's command "up" might have started Prometheus. The load of Prometheus would distort the measurements.
	if err := errors.Join(n.StopPrometheus(), n.ForgetPauseImage(ctx)); err != nil {
		return nil, fmt.Errorf("prepare scenario %q: %w", s.Name, err)
	}
	startedAt := time.Now()
	b, err := bench.Set(ctx, n, bench.FreshName(s.Name), purpose)
	if b != nil {
		defer removeAll(b)
	}
	if err != nil {
		return nil, fmt.Errorf("prepare scenario %q: %w", s.Name, err)
	}
	if b.Seed, b.Before = choice.Seed, choice.Before; b.Seed == 0 {
		b.Seed = uint64(rand.Uint32()) // a seed of 32 bits is short enough to type
	}
	n.Report.Say("scenario %s in namespace %s", s.Name, b.Namespace)
	verdict := &Verdict{}
	if err = s.Run(ctx, b, verdict); err == nil {
		err = judgeRecords(b.Observer, verdict)
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("scenario %q: %w", s.Name, context.Cause(ctx))
	}
	verdict.Print(out)
	if err == nil && !verdict.Failed() {
		fmt.Fprintf(out, "%s: passed in %s\n", s.Name, time.Since(startedAt).Round(time.Second))
		return verdict.Figures, nil
	}
	fmt.Fprintf(out, "%s: FAILED after %s\n", s.Name, time.Since(startedAt).Round(time.Second))
	printDiagnosis(ctx, b, out)
	if err != nil {
		return verdict.Figures, fmt.Errorf("scenario %q: %w", s.Name, err)
	}
	// The error repeats the problems at the end of the output. Readers of a long output look at the end first, and some
	// systems keep only the end.
	return verdict.Figures, fmt.Errorf("scenario %q: %w:\n  %s", s.Name, ErrDisagree,
		strings.Join(verdict.Wrong(), "\n  "))
}

// removeAll removes the faults and the namespace. The context is new, because removeAll must also run after an
// interrupt.
func removeAll(b *bench.Bench) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if err := b.Clear(ctx); err != nil {
		b.Node.Report.Say("cannot clear namespace %s: %v", b.Namespace, err)
	}
}
