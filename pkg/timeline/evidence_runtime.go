package timeline

import (
	"slices"
	"time"
)

func (e *Evidence) applyRuntime(o RuntimeSeen) {
	if o.AskedAt.After(e.runtimeAskedAt) {
		e.runtimeAskedAt = o.AskedAt
	}
	e.applyNetwork(o)
	running := false
	for _, s := range o.Sandboxes {
		running = running || s.Ready
		e.applySandbox(s)
	}
	for _, r := range o.Containers {
		e.applyRun(r)
	}
	for _, image := range o.Images {
		e.applyImage(o.AskedAt, image, !running && len(o.Containers) == 0)
	}
}

// applyNetwork records whether the runtime's network was ready. Observations without an answer about the network change
// nothing.
func (e *Evidence) applyNetwork(o RuntimeSeen) {
	asked := at(o.AskedAt)
	if o.NetworkUp && (e.networkUp == 0 || asked < e.networkUp) {
		e.networkUp, e.changed = asked, true
	}
	if i, known := slices.BinarySearch(e.networkDowns, asked); o.NetworkDown && !known && i < maxNetworkDowns {
		longer := slices.Insert(e.networkDowns, i, asked)
		e.networkDowns, e.changed = longer[:min(len(longer), maxNetworkDowns)], true
	}
}

func (e *Evidence) applySandbox(s Sandbox) {
	addPoint := func(m Milestone, o origin, stamp time.Time) {
		if !stamp.IsZero() {
			e.constrain(point(milestoneKey{podWide, clampAttempt(s.Attempt), m}, o, stamp))
		}
	}
	if known := e.imageKnown.with(clampAttempt(s.Attempt)); s.ImageKnown && known != e.imageKnown {
		e.imageKnown, e.changed = known, true
	}
	if known := e.unstamped.with(clampAttempt(s.Attempt)); s.Unstamped && known != e.unstamped {
		e.unstamped, e.changed = known, true
	}
	addPoint(MilestoneSandboxBegun, originStore, s.BegunAt)
	addPoint(MilestoneSandboxImageResolved, originStore, s.ImageResolvedAt)
	addPoint(MilestoneSandboxImagePulled, originStore, s.ImagePulledAt)
	addPoint(MilestoneNetworkReady, originRuntime, s.NetworkReadyAt)
	addPoint(MilestoneSandboxRunning, originStore, s.RunningAt)
	if !s.CreatedAt.IsZero() {
		begun := milestoneKey{podWide, clampAttempt(s.Attempt), MilestoneSandboxBegun}
		e.constrain(constraint{key: begun, origin: originRuntime, earliest: minInstant, latest: at(s.CreatedAt)})
		ran := milestoneKey{podWide, clampAttempt(s.Attempt), MilestoneSandboxRunning}
		e.constrain(constraint{key: ran, origin: originRuntime, earliest: at(s.CreatedAt), latest: maxInstant})
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
		e.keepExit(evidence, r.Attempt, r.ExitCode)
	}
}

// endUnknown reports whether the runtime does not know when a run ended, for example after a reboot of the node. For a
// run with an unknown end, FinishedAt is the time at which the runtime detected the end (containerd:
// internal/cri/server/restart.go).
func (r *ContainerRun) endUnknown() bool {
	return lostRun(r.Reason, r.ExitCode) && !r.StartedAt.IsZero() && r.StartedAt.Before(r.FinishedAt)
}

// lostRun reports whether the reason and the exit code mean that the runtime lost track of a run.
func lostRun(reason string, code int) bool { return reason == "Unknown" && code == 255 }
