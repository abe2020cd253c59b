package scenario

import (
	"context"
	"slices"
	"time"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/workload"
)

// knownStartUp contains the true times of one pod's start-up, from sources other than the agent.
type knownStartUp struct {
	pod        string
	lengths    []knownLength
	milestones []knownMilestone
	spans      []knownSpan
}

// knownLength is the true duration of a phase on the node's clock.
type knownLength struct {
	phase, container string
	then             string // name of the next phase if the logs show only the sum of both phases; otherwise empty
	// name of the next phase if the agent may merge the two phases, because they have the same cause; otherwise empty
	with     string
	injected time.Duration // injected delay in this phase
	truth    bench.Span
	// begunBefore is the earliest possible start of the phase, according to the kubelet or the runtime; zero if
	// unknown.
	begunBefore time.Time
	begunBy     time.Time // latest possible start of the phase according to the runtime; zero if unknown
	// latest possible end of the phase according to the runtime or the kubelet; zero if unknown
	endedBy      time.Time
	injectorEnds bool // true if the phase ends directly with the injected delay; false if a component must react first
}

// knownMilestone is a milestone, and the interval in which it happened. The interval begins with a step that comes
// before the milestone, and ends with a report that comes after the milestone.
type knownMilestone struct {
	milestone string
	held      bench.Span
}

// knownSpan is a phase on the control plane's clock, between the milestones in the fields "from" and "to". If the field
// "phase" is empty, the span is the whole start-up.
type knownSpan struct {
	phase    string
	from, to bench.Span
}

// independentRecords contains the records about one pod from all independent sources.
type independentRecords struct {
	pickedUpAt time.Time // time when the kubelet received the pod, from the kubelet's log
	boundAt    time.Time // time when the scheduler bound the pod, from the scheduler's Event
	// time of the kubelet's Event about the pull; the kubelet creates this Event just before the pull enters the queue
	pullsAt time.Time
	runtime bench.RuntimeLog
	network bench.Span                      // period in which the network plugin ran for the pod
	stated  map[string]map[string]time.Time // container -> step -> time, from the containers' logs
	seen    bench.Arrival
	calls   calls

	readySeenAt time.Time // time when the kubelet logged that the readiness probe passed; zero without a probe
}

// collectTruth collects the true times of a started pod. The pod must still exist, because the kubelet deletes the
// pod's log with the pod.
func (p plan) collectTruth(ctx context.Context, b *bench.Bench, seen bench.Arrival, c calls) (knownStartUp, error) {
	a := independentRecords{seen: seen, calls: c, stated: make(map[string]map[string]time.Time)}
	var err error
	if a.pickedUpAt, err = b.PickedUpAt(p.name); err != nil {
		return knownStartUp{}, err
	}
	if a.boundAt, err = b.BoundAt(ctx, p.name); err != nil {
		return knownStartUp{}, err
	}
	if a.pullsAt, err = b.PullRequestedAt(ctx, p.name); err != nil {
		return knownStartUp{}, err
	}
	if a.runtime, err = b.RuntimeLog(p.name, seen.UID); err != nil {
		return knownStartUp{}, err
	}
	if a.network, err = b.NetworkTruth(p.name); err != nil {
		return knownStartUp{}, err
	}
	for _, container := range []string{initName, p.hookedContainer(), mainName} {
		if container == "" || a.stated[container] != nil {
			continue
		}
		if a.stated[container], err = b.WorkloadLog(p.name, seen.UID, container); err != nil {
			return knownStartUp{}, err
		}
	}
	if passed := a.stated[mainName][workload.WordReady]; !passed.IsZero() {
		if a.readySeenAt, err = b.ReadySeenAt(p.name, passed); err != nil {
			return knownStartUp{}, err
		}
	}
	k := knownStartUp{pod: p.name, lengths: p.trueLengths(a)}
	k.milestones, k.spans = p.controlPlane(a)
	return k, nil
}

// trueLengths returns the true durations of the phases on the node's clock. If a component starts or ends a phase, the
// component's own log contains the time of this start or end. The times in the components' logs are accurate to one or
// two milliseconds. If an injected delay ends a phase, the injector's log contains the time of this end. The phases:
//
//   - The phase "volumes" begins when the kubelet receives the pod, and ends when the kubelet requests a sandbox. If a
//     Secret is missing, the phase "pod_config" replaces the phase "volumes". The phase "pod_config" ends when the
//     kubelet finds the Secret at its next attempt, which comes after a back-off.
//   - The phase "network" lasts from the request for a sandbox until the network plugin's last log line. The plugin's
//     process exits after its last log line. The runtime's own timestamp for the start of this phase lies between the
//     request for a sandbox and the start of the plugin.
//   - The phases "pull" and "unpack" together last from the request for the image until the image is complete. The
//     phase "unpack" begins when the last byte arrives. The runtime logs the request when it starts to process the
//     request. The kubelet measures the duration of a pull from the kubelet's call to the runtime.
//   - The phase "init_run" lasts from the time when the container starts to run until the process's last log line. The
//     runtime's timestamp for this start lies between the kubelet's start request and the runtime's response. The
//     process's first log line can be earlier or later than the runtime's timestamp.
//   - The phase "post_start_hook" lasts from the time when the container starts to run until the hook's last log line.
//   - The phases "startup_probe" and "readiness_probe" each begin when the previous step ends. Each of these phases
//     ends when its probe logs its success. The kubelet learns the result about ten milliseconds after the probe's
//     success. The API server learns the probe's result from the kubelet. For a readiness probe, the kubelet's log
//     contains the time when the kubelet learns the result.
func (p plan) trueLengths(a independentRecords) []knownLength {
	lengths := []knownLength{
		{phase: p.mountPhase(), injected: p.secretAfter,
			truth:   bench.Span{StartAt: a.pickedUpAt, EndAt: a.runtime.SandboxRequestedAt},
			endedBy: a.network.StartAt},
		{phase: "network", injected: p.networkDelay,
			truth:   bench.Span{StartAt: a.runtime.SandboxRequestedAt, EndAt: a.network.EndAt},
			begunBy: a.network.StartAt, endedBy: a.runtime.SandboxReadyAt, injectorEnds: true},
		{phase: "init_run", container: initName, injected: p.initRun,
			truth:       bench.Span{StartAt: a.runningAt(initName), EndAt: a.stated[initName][workload.WordDone]},
			begunBefore: a.runtime.StartRequestedAt[initName], begunBy: a.runtime.RunningAt[initName],
			endedBy: a.runtime.ExitedAt[initName], injectorEnds: true},
		{phase: "pull", container: mainName, then: "unpack", injected: p.pullTime(), truth: a.runtime.Pull,
			begunBefore: a.pullsAt},
	}
	if hooked := p.hookedContainer(); hooked == hookedName {
		lengths = append(lengths, knownLength{phase: "post_start_hook", container: hooked, injected: p.hookFor,
			injectorEnds: true,
			truth:        bench.Span{StartAt: a.runningAt(hooked), EndAt: a.stated[hooked][workload.WordHookDone]}})
	}
	at := a.runningAt(mainName)
	startedAt := at
	begunBefore, begunBy := a.runtime.StartRequestedAt[mainName], a.runtime.RunningAt[mainName]
	// All delays below count from the start of the container's process. If a probe succeeds late, the next phase is
	// therefore shorter.
	next := func(phase string, after time.Duration, word string) {
		end := a.stated[mainName][word]
		lengths = append(lengths, knownLength{phase: phase, container: mainName,
			injected: max(0, startedAt.Add(after).Sub(at)),
			truth:    bench.Span{StartAt: at, EndAt: end}, begunBefore: begunBefore, begunBy: begunBy,
			injectorEnds: true})
		at, begunBefore, begunBy = end, time.Time{}, time.Time{}
	}
	if p.hookedContainer() == mainName {
		next("post_start_hook", p.hookFor, workload.WordHookDone)
	}
	if p.startedAfter > 0 {
		next("startup_probe", p.startedAfter, workload.WordStartup)
		if !p.completes() { // if the agent was down when both probes passed, the agent may merge the two phases
			lengths[len(lengths)-1].with = "readiness_probe"
		}
	}
	if !p.completes() {
		next("readiness_probe", p.readyAfter, workload.WordReady)
		lengths[len(lengths)-1].endedBy = a.readySeenAt
	}
	return lengths
}

// mountPhase returns the phase in which the kubelet mounts the pod's volumes. If a Secret is missing, the result is
// pod_config.
func (p plan) mountPhase() string {
	if p.secretAfter > 0 {
		return "pod_config"
	}
	return "volumes"
}

// If the timeline reports two phases as one phase with the first phase's name, joinWith combines the two phases. The
// combined phase covers the time of both phases. The injected delay of the combined phase is the sum of the two phases'
// injected delays.
func (l knownLength) joinWith(next knownLength, timeline agent.Timeline) (both knownLength, ok bool) {
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

// runningAt returns the time when a container started to run. Two logs contain this time. The runtime reports the start
// after it has written the container's state to disk. The process logs its start after the kernel has loaded the
// program from disk. On a busy machine, both times can be late, but neither can be early. So runningAt returns the
// earlier time.
func (a independentRecords) runningAt(container string) time.Time {
	started, reported := a.stated[container][workload.WordStarted], a.runtime.RunningAt[container]
	if reported.IsZero() || started.Before(reported) {
		return started
	}
	return reported
}

// controlPlane returns the milestones with the API server's timestamps, and the phases between them. The milestone
// "created" lies between the scenario's request to create the pod and the response. The interval of each later
// milestone begins with the step that causes the milestone, and ends with the first report about it. For the milestone
// "scheduled", this report is the scheduler's Event. For the milestones after "scheduled", this report is a pod status
// in the scenario's watch.
func (p plan) controlPlane(a independentRecords) ([]knownMilestone, []knownSpan) {
	created := a.calls.created
	scheduled := bench.Span{StartAt: created.StartAt, EndAt: a.boundAt}
	if p.heldFor > 0 {
		scheduled.StartAt = a.calls.lifted.StartAt
	}
	acknowledged := bench.Span{StartAt: a.pickedUpAt, EndAt: a.seen.AcknowledgedAt}
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
