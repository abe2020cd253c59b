package timeline

import (
	"slices"
	"time"
)

func (e *Evidence) applyRuntime(o RuntimeSeen) {
	if o.QueriedAt.After(e.runtimeQueriedAt) {
		e.runtimeQueriedAt = o.QueriedAt
	}
	e.applyNetwork(o)
	running := false
	for _, s := range o.Sandboxes {
		running = running || s.Ready
		e.applySandbox(s)
		if !s.Ready {
			e.applyStopped(clampAttempt(s.Attempt), at(o.QueriedAt))
		}
	}
	for _, r := range o.Containers {
		e.applyRun(r)
	}
	for _, image := range o.Images {
		e.applyImage(o.QueriedAt, image, !running && len(o.Containers) == 0)
	}
}

// applyNetwork records whether the runtime's network was ready. If an observation contains no response about the
// network, applyNetwork changes nothing.
func (e *Evidence) applyNetwork(o RuntimeSeen) {
	queriedAt := at(o.QueriedAt)
	if o.NetworkUp && (e.networkUp == 0 || queriedAt < e.networkUp) {
		e.networkUp, e.changed = queriedAt, true
	}
	if o.NetworkFirst && !e.networkFirst {
		e.networkFirst, e.changed = true, true
	}
	if i, known := slices.BinarySearch(e.networkDowns, queriedAt); o.NetworkDown && !known && i < maxNetworkDowns {
		longer := slices.Insert(e.networkDowns, i, queriedAt)
		e.networkDowns, e.changed = longer[:min(len(longer), maxNetworkDowns)], true
	}
}

func (e *Evidence) applySandbox(s Sandbox) {
	attempt := clampAttempt(s.Attempt)
	addPoint := func(m Milestone, o origin, stamp time.Time) {
		if !stamp.IsZero() {
			e.constrain(point(milestoneKey{podWide, attempt, m}, o, stamp))
		}
	}
	if known := e.imageKnown.with(attempt); s.ImageKnown && known != e.imageKnown {
		e.imageKnown, e.changed = known, true
	}
	if known := e.unstamped.with(attempt); s.Unstamped && known != e.unstamped {
		e.unstamped, e.changed = known, true
	}
	if s.ImageFirst && !s.BegunAt.IsZero() && !s.NetworkReadyAt.IsZero() {
		e.applySandboxRecord(s)
		return
	}
	if !s.BegunAt.IsZero() && !s.ImageFirst && !e.networkFirst { // only the sandbox store of containerd 2 has this time
		e.networkFirst, e.changed = true, true
	}
	addPoint(MilestoneSandboxBegun, originStore, s.BegunAt)
	addPoint(MilestoneSandboxImageResolved, originStore, s.ImageResolvedAt)
	addPoint(MilestoneSandboxImagePulled, originStore, s.ImagePulledAt)
	addPoint(MilestoneNetworkReady, originRuntime, s.NetworkReadyAt)
	addPoint(MilestoneSandboxRunning, originStore, s.RunningAt)
	if !s.CreatedAt.IsZero() {
		begun := milestoneKey{podWide, attempt, MilestoneSandboxBegun}
		e.constrain(constraint{key: begun, origin: originRuntime, earliest: minInstant, latest: at(s.CreatedAt)})
		ran := milestoneKey{podWide, attempt, MilestoneSandboxRunning}
		e.constrain(constraint{key: ran, origin: originRuntime, earliest: at(s.CreatedAt), latest: maxInstant})
	}
}

// applyStopped records that the runtime reported a sandbox as not ready. Of all responses about the last such sandbox,
// the earliest response counts.
func (e *Evidence) applyStopped(attempt uint16, queriedAt instant) {
	stopped, isLast := e.stopped.with(attempt), e.stopped>>attempt <= 1
	if isLast && stopped.has(attempt) && (stopped != e.stopped || queriedAt < e.stoppedAt) {
		e.stoppedAt, e.changed = queriedAt, true
	}
	if stopped != e.stopped {
		e.stopped, e.changed = stopped, true
	}
}

// applySandboxRecord records the times of a sandbox whose field ImageFirst is true (containerd 1.x). The runtime sets
// BegunAt only after it has prepared the sandbox's file system. The runtime never pulls the sandbox image between
// BegunAt and NetworkReadyAt.
func (e *Evidence) applySandboxRecord(s Sandbox) {
	attempt := clampAttempt(s.Attempt)
	begun, ready := at(s.BegunAt), at(s.NetworkReadyAt)
	e.constrain(constraint{key: milestoneKey{podWide, attempt, MilestoneSandboxBegun}, origin: originStore,
		bias: biasLatest, earliest: begun - instant(runtimeSlack), latest: begun})
	e.constrain(point(milestoneKey{podWide, attempt, MilestoneNetworkReady}, originStore, s.NetworkReadyAt))
	e.constrain(constraint{key: milestoneKey{podWide, attempt, MilestoneSandboxRunning}, origin: originStore,
		earliest: ready, latest: maxInstant})
	stored := at(s.ImageStoredAt)
	if s.ImageStoredAt.IsZero() {
		stored = maxInstant
	}
	known, first := e.imageKnown.with(attempt), e.imageFirst.with(attempt)
	if known != e.imageKnown || first != e.imageFirst || stored > e.imageStored {
		e.imageKnown, e.imageFirst, e.imageStored, e.changed = known, first, max(stored, e.imageStored), true
	}
}

func (e *Evidence) applyRun(r ContainerRun) {
	index, evidence := e.container(r.Name)
	if evidence == nil {
		return
	}
	addPoint := func(m Milestone, stamp time.Time) {
		if !stamp.IsZero() {
			e.constrain(point(milestoneKey{index, clampAttempt(r.Attempt), m}, originRuntime, stamp))
		}
	}
	addPoint(MilestoneContainerCreated, r.CreatedAt)
	addPoint(MilestoneRunning, r.StartedAt)
	if r.endUnknown() {
		e.constrain(constraint{key: milestoneKey{index, clampAttempt(r.Attempt), MilestoneFinished},
			origin:   originRuntime,
			earliest: at(r.StartedAt), latest: at(r.FinishedAt)})
	} else {
		addPoint(MilestoneFinished, r.FinishedAt)
	}
	if !r.FinishedAt.IsZero() {
		e.keepExit(evidence, r.Attempt, r.ExitCode, r.Reason)
	}
}

// endUnknown reports whether the runtime does not know when a run ended, for example after a reboot of the node. For a
// run with an unknown end, FinishedAt is the time at which the runtime detected the end (containerd:
// internal/cri/server/restart.go).
func (r *ContainerRun) endUnknown() bool {
	return lostRun(r.Reason, r.ExitCode) && !r.StartedAt.IsZero() && r.StartedAt.Before(r.FinishedAt)
}

// sandboxLost reports whether the runtime reported the pod's latest sandbox as not ready during the start-up. The
// kubelet replaces such a sandbox.
func (e *Evidence) sandboxLost() bool { return !e.Ended() && e.latestSandboxStopped() }

// latestSandboxStopped reports whether the runtime reported the pod's latest sandbox as not ready.
func (e *Evidence) latestSandboxStopped() bool {
	if e.stopped == 0 {
		return false
	}
	latest := uint16(0)
	for _, c := range e.constraints {
		if c.key.container != podWide {
			break // the constraints on the pod's own milestones come first
		}
		switch c.key.milestone {
		case MilestoneSandboxBegun, MilestoneNetworkReady, MilestoneSandboxRunning:
			latest = max(latest, c.key.attempt)
		}
	}
	return e.stopped.has(latest)
}
