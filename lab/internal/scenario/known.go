package scenario

import (
	"context"
	"time"

	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/workload"
)

// known is what others than the agent dated of one pod's start-up.
type known struct {
	pod     string
	lengths []knownLength
	marks   []knownMark
	spans   []knownSpan
}

// knownLength is a phase on the node's clock.
type knownLength struct {
	phase, container string
	injected         time.Duration
	truth            bench.Span
}

// knownMark is a mark and what holds it: each of the two ends is the instant of a cause that came before
// the mark, or of a consequence that came after it.
type knownMark struct {
	mark string
	held bench.Span
}

// knownSpan is a phase on the control plane's clock: the marks at its ends. No phase means the total.
type knownSpan struct {
	phase    string
	from, to bench.Span
}

// ask collects the truth about a pod that has started. It must still be there: its log goes with it.
func (p plan) ask(ctx context.Context, b *bench.Bench, seen bench.Sighting, c calls) (known, error) {
	network, err := b.NetworkTruth(p.name)
	if err != nil {
		return known{}, err
	}
	pull, err := b.RuntimePullTruth(p.name)
	if err != nil {
		return known{}, err
	}
	boundAt, err := b.BoundAt(ctx, p.name)
	if err != nil {
		return known{}, err
	}
	logs := make(map[string]map[string]time.Time)
	for _, container := range []string{initName, p.hooked(), mainName} {
		if container == "" || logs[container] != nil {
			continue
		}
		if logs[container], err = b.WorkloadLog(p.name, seen.UID, container); err != nil {
			return known{}, err
		}
	}
	k := known{pod: p.name}
	k.lengths = p.lengths(seen, network, pull, logs)
	k.marks, k.spans = p.controlPlane(seen, c, boundAt, logs[mainName])
	return k, nil
}

// lengths are the phases on the node's clock, each as exact as who dated it:
//
//   - volumes: from the scenario's own watch bringing kubelet's first status, some milliseconds after
//     kubelet took the pod up, to the network plugin's first call, some milliseconds after the sandbox was
//     begun. A secret's creation is not the end: kubelet finds it at its next try, after a back-off.
//   - network: the plugin's own run. Making the namespace and starting the plugin come on top.
//   - pull: containerd's own log, to the millisecond.
//   - init_run: what the process says of its start and its end, both milliseconds inside the container's.
//   - post_start_hook: from the process' start to the hook's last word, before it exits.
//   - startup_probe, readiness_probe: from what comes before to the probe's word that it passes; kubelet
//     and the API server pass that on in some milliseconds.
func (p plan) lengths(seen bench.Sighting, network, pull bench.Span, logs map[string]map[string]time.Time) []knownLength {
	first, main := logs[initName], logs[mainName]
	lengths := []knownLength{
		{"volumes", "", p.secretAfter, bench.Span{StartAt: seen.AcknowledgedAt, EndAt: network.StartAt}},
		{"network", "", p.networkDelay, network},
		{"init_run", initName, p.initRun, bench.Span{StartAt: first[workload.WordStarted], EndAt: first[workload.WordDone]}},
		{"pull", mainName, p.pullTime(), pull},
	}
	at := main[workload.WordStarted]
	next := func(phase, container string, injected time.Duration, to time.Time) {
		lengths = append(lengths, knownLength{phase, container, injected, bench.Span{StartAt: at, EndAt: to}})
		at = to
	}
	if hooked := p.hooked(); hooked == mainName {
		next("post_start_hook", hooked, p.hookFor, main[workload.WordHookDone])
	} else if hooked != "" {
		lengths = append(lengths, knownLength{"post_start_hook", hooked, p.hookFor,
			bench.Span{StartAt: logs[hooked][workload.WordStarted], EndAt: logs[hooked][workload.WordHookDone]}})
	}
	if p.startedAfter > 0 {
		next("startup_probe", mainName, p.startedAfter, main[workload.WordStartup])
	}
	if !p.completes() {
		next("readiness_probe", mainName, max(0, p.readyAfter-p.startedAfter), main[workload.WordReady])
	}
	return lengths
}

// controlPlane are the marks that the API server stamps. Creation, binding and approval lie between a
// request and its answer; what kubelet tells lies between its cause and the scenario's watch.
func (p plan) controlPlane(seen bench.Sighting, c calls, boundAt time.Time, main map[string]time.Time) ([]knownMark, []knownSpan) {
	created := c.created
	scheduled := bench.Span{StartAt: created.StartAt, EndAt: boundAt}
	if p.heldFor > 0 {
		scheduled.StartAt = c.lifted.StartAt
	}
	acknowledged := bench.Span{StartAt: scheduled.StartAt, EndAt: seen.AcknowledgedAt}
	marks := []knownMark{{"created", created}, {"scheduled", scheduled}, {"acknowledged", acknowledged}}
	spans := []knownSpan{{"scheduling", created, scheduled}, {"kubelet_pickup", scheduled, acknowledged}}
	if p.completes() {
		return marks, spans
	}
	containersReady := bench.Span{StartAt: main[workload.WordReady], EndAt: seen.ContainersReadyAt}
	ready := bench.Span{StartAt: containersReady.StartAt, EndAt: seen.ReadyAt}
	if p.approvedLate > 0 {
		ready.StartAt = c.approved.StartAt
		spans = append(spans, knownSpan{"readiness_gates", containersReady, ready})
	}
	marks = append(marks, knownMark{"containers_ready", containersReady}, knownMark{"ready", ready})
	return marks, append(spans, knownSpan{"", created, ready})
}
