package timeline

import (
	"slices"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

// step is one mark on the way to ready, with the phase that ends there.
type step struct {
	key    markKey
	phase  Phase
	also   Phase // another phase that may be in there, if any
	untold bool  // nobody may ever tell of this mark, which is then no evidence missing
}

// chain is the steps of the pod's common part or of one container, in the order kubelet takes them.
type chain struct {
	container string // empty for the pod's own
	steps     []step
}

func (c chain) keys() []markKey {
	keys := make([]markKey, len(c.steps))
	for i, s := range c.steps {
		keys[i] = s.key
	}
	return keys
}

// podSteps is the way to a running sandbox. Of several sandboxes the first begins and the last runs.
func (f *fold) podSteps() chain {
	last := f.lastAttempt(podWide, MarkSandboxBegun, MarkNetworkReady, MarkSandboxRunning)
	steps := []step{
		{key: podMark(MarkCreated)},
		{key: podMark(MarkScheduled), phase: PhaseScheduling},
		{key: podMark(MarkAcknowledged), phase: PhaseKubeletPickup},
	}
	steps = append(steps, f.sandboxSteps()...)
	return chain{steps: append(steps,
		step{key: markKey{podWide, last, MarkNetworkReady}, phase: PhaseNetwork},
		step{key: markKey{podWide, last, MarkSandboxRunning}, phase: PhaseSandbox})}
}

// sandboxSteps is the way to the sandbox that came to run. Of those before it that failed, the runtime
// keeps nothing; only Events tell. Until the first of them fails, volumes and sandbox cannot be told
// apart; then kubelet backs off and tries again because of what made it fail.
func (f *fold) sandboxSteps() []step {
	begun := step{key: podMark(MarkSandboxBegun), phase: PhaseVolumes}
	failures := f.e.sandboxes
	switch {
	case len(failures) > 0:
		steps := []step{{key: markKey{podWide, 0, MarkSandboxFailed}, phase: PhaseVolumes, also: failures[0].phase}}
		for i, failure := range failures[1:] {
			steps = append(steps, step{key: markKey{podWide, uint16(i + 1), MarkSandboxFailed}, phase: failure.phase})
		}
		begun.phase = failures[len(failures)-1].phase
		return append(steps, begun)
	case f.e.mayHaveFailedBefore(f.bounds.find(begun.key)):
		begun.also = PhaseNetwork
	}
	return []step{begun}
}

// containerSteps is the way of one container to running, and of an init container to its end.
func (f *fold) containerSteps(c Container) chain {
	index := f.index(c.Name)
	steps := pullSteps(index, f.attemptsOf(c))
	last := f.lastAttempt(index, MarkContainerCreated, MarkRunning, MarkFinished)
	if c.Kind == KindSidecar {
		// Once it has started, kubelet goes on; that it restarts later is no part of the way.
		last = f.firstAttempt(index, MarkStarted, last)
	}
	ended := PhaseFailedRun
	if c.Kind == KindInit {
		ended = PhaseInitRun
	}
	for attempt := uint16(0); attempt <= last; attempt++ {
		create := step{key: markKey{index, attempt, MarkContainerCreated}, phase: PhaseContainerCreate}
		if attempt > 0 {
			create.phase = PhaseCrashBackoff
			if attempt == 1 {
				create.phase = PhaseKubeletSync // kubelet restarts at once the first time
			}
			if c.PullPolicy == PullAlways {
				create.also = PhasePull // it asks the registry again, which no evidence here dates
			}
		}
		steps = append(steps, create,
			step{key: markKey{index, attempt, MarkRunning}, phase: PhaseContainerStart})
		if attempt < last || c.Kind == KindInit || f.failed() || f.crashed(c) {
			steps = append(steps, step{key: markKey{index, attempt, MarkFinished}, phase: ended})
		}
	}
	if c.Kind == KindSidecar && c.StartupProbe {
		// The next init container waits for it.
		steps = append(steps, step{key: markKey{index, last, MarkStarted}, phase: PhaseStartupProbe})
	}
	return chain{c.Name, steps}
}

// pullSteps is what comes before a container is created. Of an image that was there, only kubelet may
// tell, with an Event, when it found it.
func pullSteps(index int16, attempts []pullAttempt) []step {
	var steps []step
	for _, a := range attempts {
		wait := PhaseKubeletSync
		if a.attempt > 0 {
			wait = PhaseImageBackoff
		}
		if a.outcome == imagepull.OutcomePresent {
			steps = append(steps, step{key: markKey{index, a.attempt, MarkPullFinished}, phase: wait, untold: true})
			continue
		}
		steps = append(steps,
			step{key: markKey{index, a.attempt, MarkPullRequested}, phase: wait},
			step{key: markKey{index, a.attempt, MarkPullStarted}, phase: PhasePullQueue},
			step{key: markKey{index, a.attempt, a.end()}, phase: PhasePull})
	}
	return steps
}

// readySteps is the way from the last container's start to the pod's readiness, along the container
// that became ready last. It has no steps while no container was seen ready.
func (f *fold) readySteps() chain {
	last, found := f.readyLast()
	if !found {
		return chain{}
	}
	index := f.index(last.Name)
	attempt := f.lastAttempt(index, MarkContainerReady)
	name, also := last.Name, f.alsoReadyLast(last)
	if also != "" {
		name = ""
	}
	if also == PhaseReadinessProbe && last.ReadinessProbe {
		also = ""
	}
	gates := PhaseKubeletSync
	if f.e.pod.ReadinessGates {
		gates = PhaseReadinessGates
	}
	var steps []step
	if name != "" && last.StartupProbe && last.Kind != KindSidecar { // without one kubelet calls a container started when it runs
		steps = append(steps, step{key: markKey{index, attempt, MarkStarted}, phase: PhaseStartupProbe})
	}
	// All containers are ready when the last one is, and that moment has a stamp of its own.
	return chain{name, append(steps,
		step{key: podMark(MarkContainersReady), phase: probePhase(last.ReadinessProbe, PhaseReadinessProbe), also: also},
		step{key: podMark(MarkReady), phase: gates})}
}

// probePhase charges the wait for a probe to the app only if there is a probe.
func probePhase(probed bool, phase Phase) Phase {
	if probed {
		return phase
	}
	return PhaseKubeletSync
}

// alsoReadyLast is the phase of another container that may have become ready last just as well, because both were
// first seen ready in the same news; empty when there is none.
func (f *fold) alsoReadyLast(last Container) Phase {
	known := func(c Container) *bound {
		index := f.index(c.Name)
		return f.bounds.find(markKey{index, f.lastAttempt(index, MarkContainerReady), MarkContainerReady})
	}
	var also Phase
	for _, c := range f.containers {
		if b := known(c); c.Kind != KindInit && c.Name != last.Name && b != nil && b.latest == known(last).latest &&
			(last.ReadinessProbe || last.StartupProbe || c.ReadinessProbe || c.StartupProbe) {
			if also == "" || c.ReadinessProbe != last.ReadinessProbe {
				also = probePhase(c.ReadinessProbe || c.StartupProbe, PhaseReadinessProbe)
			}
		}
	}
	return also
}

// readyLast is the container that became ready last; of several at once one with a readiness probe.
func (f *fold) readyLast() (last Container, found bool) {
	var lastAt instant
	for _, c := range f.e.pod.Containers {
		if c.Kind == KindInit || c.Kind == KindEphemeral {
			continue
		}
		index := f.index(c.Name)
		b := f.bounds.find(markKey{index, f.lastAttempt(index, MarkContainerReady), MarkContainerReady})
		if b == nil {
			continue
		}
		later := b.estimate() > lastAt
		tie := b.estimate() == lastAt && (c.ReadinessProbe || !last.ReadinessProbe)
		if !found || later || tie {
			last, lastAt, found = c, b.estimate(), true
		}
	}
	return last, found
}

// lastAttempt is the highest attempt that any of the marks is known for.
func (f *fold) lastAttempt(container int16, marks ...Mark) uint16 {
	var last uint16
	for _, c := range f.claims {
		if c.key.container == container && slices.Contains(marks, c.key.mark) {
			last = max(last, c.key.attempt)
		}
	}
	return last
}

// firstAttempt is the lowest attempt that the mark is known for, or the given one when it is not known.
func (f *fold) firstAttempt(container int16, mark Mark, otherwise uint16) uint16 {
	for _, c := range f.claims { // sorted by attempt within a mark
		if c.key.container == container && c.key.mark == mark {
			return c.key.attempt
		}
	}
	return otherwise
}
