package scenario

import (
	"context"
	"slices"
	"time"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/workload"
)

// known is what others than the agent dated of one pod's start-up.
type known struct {
	pod        string
	lengths    []knownLength
	milestones []knownMilestone
	spans      []knownSpan
}

// knownLength is a phase on the node's clock.
type knownLength struct {
	phase, container string
	then             string        // the phase that goes on with it, which the truth does not tell apart; empty: none
	with             string        // the next one, of the same cause, which may be told under this one's name; empty: none
	injected         time.Duration // so much of what was injected falls into it
	truth            bench.Span
	begunBefore      time.Time // when it cannot have begun yet, by kubelet or the runtime; zero where nothing says so
	begunBy          time.Time // when the runtime, too, knew that it had begun; zero where it does not say
	endedBy          time.Time // when the runtime or kubelet, too, knew that it had ended; zero where it does not say
	injectorEnds     bool      // it ends when the injector says so, not with what a component makes of that
}

// knownMilestone is a milestone and what holds it: each of the two ends is the instant of a cause that came before
// the milestone, or of a consequence that came after it.
type knownMilestone struct {
	milestone string
	held      bench.Span
}

// knownSpan is a phase on the control plane's clock: the milestones at its ends. No phase means the total.
type knownSpan struct {
	phase    string
	from, to bench.Span
}

// accounts are what each witness tells of one pod.
type accounts struct {
	takenUpAt time.Time // by kubelet, from its log
	boundAt   time.Time // by the scheduler, from its Event
	pullsAt   time.Time // kubelet says so just before it queues the pull, from its Event
	runtime   bench.RuntimeLog
	network   bench.Span                      // the plugin's own run
	stated    map[string]map[string]time.Time // by the process in each container
	seen      bench.Arrival
	calls     calls

	heardReadyAt time.Time // by kubelet, from its log; zero where nothing is probed
}

// ask collects the truth about a pod that has started. It must still be there: its log goes with it.
func (p plan) ask(ctx context.Context, b *bench.Bench, seen bench.Arrival, c calls) (known, error) {
	a := accounts{seen: seen, calls: c, stated: make(map[string]map[string]time.Time)}
	var err error
	if a.takenUpAt, err = b.TakenUpAt(p.name); err != nil {
		return known{}, err
	}
	if a.boundAt, err = b.BoundAt(ctx, p.name); err != nil {
		return known{}, err
	}
	if a.pullsAt, err = b.PullRequestedAt(ctx, p.name); err != nil {
		return known{}, err
	}
	if a.runtime, err = b.RuntimeLog(p.name, seen.UID); err != nil {
		return known{}, err
	}
	if a.network, err = b.NetworkTruth(p.name); err != nil {
		return known{}, err
	}
	for _, container := range []string{initName, p.hooked(), mainName} {
		if container == "" || a.stated[container] != nil {
			continue
		}
		if a.stated[container], err = b.WorkloadLog(p.name, seen.UID, container); err != nil {
			return known{}, err
		}
	}
	if passed := a.stated[mainName][workload.WordReady]; !passed.IsZero() {
		if a.heardReadyAt, err = b.HeardReadyAt(p.name, passed); err != nil {
			return known{}, err
		}
	}
	k := known{pod: p.name, lengths: p.lengths(a)}
	k.milestones, k.spans = p.controlPlane(a)
	return k, nil
}

// lengths are the phases on the node's clock. Where a phase begins or ends with what a component does, that
// component's own log dates it, to a millisecond or two; where it ends with what was injected, the injector:
//
//   - volumes, or pod_config while a secret is missing: kubelet takes the pod up → asks the runtime for a sandbox. A
//     secret's creation is not the end: kubelet finds it at its next try, after a back-off.
//   - network: the runtime is asked for a sandbox → the plugin's last word; ending its process comes on top. The runtime stamps
//     the sandbox' beginning after it was asked, and before it runs the plugin.
//   - pull, and unpack, which is what is left of it after the last byte came: the runtime is asked → it has the image. It
//     notes that it was asked when it turns to that; kubelet counts from its call.
//   - init_run: the container runs → the process' last word. The runtime stamps that it runs at some time from when it was asked
//     to start it until it answers; the process may speak before that, or later.
//   - post_start_hook: the container runs → the hook's last word.
//   - startup_probe, readiness_probe: what comes before → the probe's word that it passes. That kubelet hears
//     of it, and the API server, takes some ten milliseconds more; it notes when it heard of the latter.
func (p plan) lengths(a accounts) []knownLength {
	lengths := []knownLength{
		{phase: p.mounting(), injected: p.secretAfter, truth: bench.Span{StartAt: a.takenUpAt, EndAt: a.runtime.SandboxAskedAt},
			endedBy: a.network.StartAt},
		{phase: "network", injected: p.networkDelay, truth: bench.Span{StartAt: a.runtime.SandboxAskedAt, EndAt: a.network.EndAt},
			begunBy: a.network.StartAt, endedBy: a.runtime.SandboxReadyAt, injectorEnds: true},
		{phase: "init_run", container: initName, injected: p.initRun,
			truth:       bench.Span{StartAt: a.runningAt(initName), EndAt: a.stated[initName][workload.WordDone]},
			begunBefore: a.runtime.StartAskedAt[initName], begunBy: a.runtime.RunningAt[initName],
			endedBy: a.runtime.ExitedAt[initName], injectorEnds: true},
		{phase: "pull", container: mainName, then: "unpack", injected: p.pullTime(), truth: a.runtime.Pull, begunBefore: a.pullsAt},
	}
	if hooked := p.hooked(); hooked == hookedName {
		lengths = append(lengths, knownLength{phase: "post_start_hook", container: hooked, injected: p.hookFor, injectorEnds: true,
			truth: bench.Span{StartAt: a.runningAt(hooked), EndAt: a.stated[hooked][workload.WordHookDone]}})
	}
	at := a.runningAt(mainName)
	startedAt := at
	begunBefore, begunBy := a.runtime.StartAskedAt[mainName], a.runtime.RunningAt[mainName]
	// All that is injected here counts from the process' start: a probe that passed late has used up a part of the next.
	next := func(phase string, after time.Duration, word string) {
		end := a.stated[mainName][word]
		lengths = append(lengths, knownLength{phase: phase, container: mainName, injected: max(0, startedAt.Add(after).Sub(at)),
			truth: bench.Span{StartAt: at, EndAt: end}, begunBefore: begunBefore, begunBy: begunBy, injectorEnds: true})
		at, begunBefore, begunBy = end, time.Time{}, time.Time{}
	}
	if p.hooked() == mainName {
		next("post_start_hook", p.hookFor, workload.WordHookDone)
	}
	if p.startedAfter > 0 {
		next("startup_probe", p.startedAfter, workload.WordStartup)
		if !p.completes() { // an agent that was away while both passed cannot tell them apart
			lengths[len(lengths)-1].with = "readiness_probe"
		}
	}
	if !p.completes() {
		next("readiness_probe", p.readyAfter, workload.WordReady)
		lengths[len(lengths)-1].endedBy = a.heardReadyAt
	}
	return lengths
}

// mounting is the phase in which kubelet mounts the pod's volumes: it is the configuration's while a secret is missing.
func (p plan) mounting() string {
	if p.secretAfter > 0 {
		return "pod_config"
	}
	return "volumes"
}

// joined is how a length and the next one are to be read where the timeline tells both under the name of the first: what was
// injected into either, over the time of both.
func (l knownLength) joined(next knownLength, timeline agent.Timeline) (both knownLength, ok bool) {
	if l.with == "" || l.with != next.phase || !slices.ContainsFunc(timeline.Phases, func(p agent.Phase) bool {
		return p.Phase == l.phase && p.Container == l.container && slices.Contains(p.MergedWith, l.with)
	}) {
		return l, false
	}
	both = l
	both.injected += next.injected
	both.truth.EndAt, both.endedBy = next.truth.EndAt, next.endedBy
	return both, true
}

// runningAt is when a container ran. The runtime says so after it has written that down to the disk, the
// process once it has been loaded from there; a busy machine delays the one or the other, neither is early.
func (a accounts) runningAt(container string) time.Time {
	started, reported := a.stated[container][workload.WordStarted], a.runtime.RunningAt[container]
	if reported.IsZero() || started.Before(reported) {
		return started
	}
	return reported
}

// controlPlane are the milestones that the API server stamps. Creation, binding and approval lie between a
// request and its answer; what kubelet tells lies between its cause and the scenario's watch.
func (p plan) controlPlane(a accounts) ([]knownMilestone, []knownSpan) {
	created := a.calls.created
	scheduled := bench.Span{StartAt: created.StartAt, EndAt: a.boundAt}
	if p.heldFor > 0 {
		scheduled.StartAt = a.calls.lifted.StartAt
	}
	acknowledged := bench.Span{StartAt: a.takenUpAt, EndAt: a.seen.AcknowledgedAt}
	milestones := []knownMilestone{{"created", created}, {"scheduled", scheduled}, {"acknowledged", acknowledged}}
	spans := []knownSpan{{"scheduling", created, scheduled}, {"kubelet_pickup", scheduled, acknowledged}}
	if p.completes() {
		return milestones, spans
	}
	containersReady := bench.Span{StartAt: a.stated[mainName][workload.WordReady], EndAt: a.seen.ContainersReadyAt}
	ready := bench.Span{StartAt: containersReady.StartAt, EndAt: a.seen.ReadyAt}
	if p.approvedLate > 0 {
		ready.StartAt = a.calls.approved.StartAt
		spans = append(spans, knownSpan{"readiness_gates", containersReady, ready})
	}
	milestones = append(milestones, knownMilestone{"containers_ready", containersReady}, knownMilestone{"ready", ready})
	return milestones, append(spans, knownSpan{"", created, ready})
}
