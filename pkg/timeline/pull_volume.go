package timeline

import (
	"slices"
	"time"
)

// The kubelet pulls the images of the pod's image volumes at each sync of the pod, before it starts containers
// (getImageVolumes in pkg/kubelet/kuberuntime). If such a pull fails, the kubelet starts only the containers that do
// not mount the volume. Each container that mounts the volume waits, and its status reports the failed pull of the
// volume's image (toKubeContainerImageVolumes).

func (e *Evidence) isVolume(index int16) bool {
	c := e.specOf(index)
	return c != nil && c.Kind == KindImageVolume
}

// volumeUsedBy returns the latest possible time of the kubelet's first use of an image volume. Usually, the first use
// is the creation of the pod's first container. But if a pull of the volume's image failed, the containers that do not
// mount the volume can be created earlier. No evidence shows which containers mount the volume. So after a failed pull,
// the result is the creation of the container that the kubelet created last, or maxInstant if the kubelet has not
// created all containers.
func (e *Evidence) volumeUsedBy(volume int16) instant {
	if !e.pullFailed(volume) {
		return e.firstCreatedBy()
	}
	last := minInstant
	for i := range e.pod.Containers {
		if c := &e.pod.Containers[i]; c.Kind != KindImageVolume && c.Kind != KindEphemeral {
			index := e.indexNear(i, c.Name)
			if index == podWide {
				return maxInstant
			}
			last = max(last, e.createdBy(index))
		}
	}
	if last == minInstant {
		return maxInstant
	}
	return last
}

// firstCreatedBy returns the latest possible time of the creation of the pod's first container, or maxInstant if no
// container was created.
func (e *Evidence) firstCreatedBy() instant {
	first := maxInstant
	for i := range e.containers {
		first = min(first, e.createdBy(int16(i)))
	}
	return first
}

// pullFailed reports whether an Event or a status reports a failed pull of an image.
func (e *Evidence) pullFailed(index int16) bool {
	return e.containers[index].statusFailure != nil || len(e.pullEventsOf(index).failures) > 0
}

// statusFailuresOf returns the failed pulls of an image, according to the statuses of a container: the first failure,
// and the later failures. Package podwatch finds out whether a status concerns the container's own image or the image
// of a volume. Agents up to v1.0 did not distinguish these two images. So the statuses of the container count for a
// volume under two conditions: only Events report a failed pull for the volume, and no Event reports a failed pull for
// the container.
func (e *Evidence) statusFailuresOf(index int16) (first *failureEvent, later []failureEvent) {
	c := &e.containers[index]
	if c.statusFailure == nil {
		return nil, nil
	}
	ofVolume := !e.isVolume(index) && len(e.pullEventsOf(index).failures) == 0 &&
		slices.ContainsFunc(e.pod.Containers, func(v Container) bool {
			i := e.indexOf(v.Name)
			return v.Kind == KindImageVolume && i != podWide && e.containers[i].statusFailure == nil && e.pullFailed(i)
		})
	if ofVolume {
		return nil, nil
	}
	return c.statusFailure, c.statusFailures()
}

// stepsBeforeContainers returns how many steps of an image volume happened before the kubelet's work on the containers.
// After a failed pull, the kubelet works on the containers that do not mount the volume, and on other volumes, before
// it pulls the volume's image again. With the policy Always, even the first failed pull can come after the first
// container. So after a failed pull, stepsBeforeContainers counts only the steps that certainly happened before the
// work on the containers. If no evidence shows a failed pull, stepsBeforeContainers counts all steps before the first
// step that certainly happened after the beginning of the work on the containers. Such a late step shows that an
// earlier pull failed unnoticed.
func (f *fold) stepsBeforeContainers(c *Container, steps []step) int {
	began, worked, created := maxInstant, maxInstant, f.e.firstCreatedBy()
	for _, o := range f.containers {
		if o.Name == c.Name {
			continue
		}
		for _, b := range f.bounds.ofContainer(f.index(o.Name)) {
			began, worked = min(began, b.earliest), min(worked, b.latest)
		}
	}
	failed := f.e.pullFailed(f.index(c.Name))
	later := slices.IndexFunc(steps, func(s step) bool {
		b := f.bounds.find(s.key)
		switch {
		case b == nil:
			return false
		case !failed:
			return b.earliest > worked
		case s.key.attempt == 0 && c.PullPolicy != PullAlways:
			return b.latest > began && b.earliest > created
		}
		return b.latest > began
	})
	if later < 0 {
		return len(steps)
	}
	return later
}

// volumeOrder returns the order of the pulls of image volumes and the kubelet's work on containers, after a failed pull
// of a volume's image. The kubelet works on a container without interruption, from the check or the request of its
// image to its start. So if this work began before a request for the volume's image, the container also ran before the
// request. If the work began after the request, the pull of the volume's image had ended.
func (f *fold) volumeOrder() (all []sequence) {
	for _, v := range f.containers {
		index := f.index(v.Name)
		if v.Kind != KindImageVolume || !f.e.pullFailed(index) {
			continue
		}
		for attempt := range f.pulls[index].finalAttempt + 1 {
			requested, ended := f.requestAndEnd(index, attempt)
			if requested == nil || ended == nil {
				continue
			}
			for _, c := range f.containers {
				i := f.index(c.Name)
				starts := f.pullStarts(i)
				if c.Kind == KindImageVolume || len(starts) != 1 || f.e.createFailed(i) || f.pulls[i].finalAttempt > 0 {
					continue
				}
				ran := f.bounds.find(milestoneKey{i, 0, MilestoneRunning})
				switch began := starts[0]; {
				case began.latest <= requested.earliest && ran != nil && ran.earliest <= requested.latest:
					all = append(all, sequence{ran, requested, ended})
				case requested.latest <= f.reportedSince(began) && ended.earliest <= began.latest:
					all = append(all, sequence{ended, began})
				}
			}
		}
	}
	return all
}

// reportedSince returns the earliest possible time of the Event about the beginning of the kubelet's work on a
// container. The kubelet checks the image, creates the Event, and only then continues. So a step of the kubelet before
// the Event is also before the check. The name of an Event shows its exact time.
func (f *fold) reportedSince(began *bound) instant {
	if p := &f.pulls[began.key.container].pulled; began.key.milestone == MilestonePullFinished && p.present &&
		p.origin == originEventName {
		return p.latest
	}
	return began.earliest
}

// lastPullOrder returns the order of the last pull of an image volume and the creation of the container that the
// kubelet created last. The volume's image certainly arrived before this creation if a container waited for the image.
func (f *fold) lastPullOrder(c *Container) sequence {
	index := f.index(c.Name)
	finished := f.bounds.find(milestoneKey{index, f.pulls[index].finalAttempt, MilestonePullFinished})
	if used := f.e.usedBy(index); finished != nil && used != maxInstant && f.e.containers[index].statusFailure != nil {
		for _, o := range f.containers {
			key := milestoneKey{f.index(o.Name), 0, MilestoneContainerCreated}
			if created := f.bounds.find(key); created != nil && f.e.createdBy(key.container) == used {
				return sequence{finished, created}
			}
		}
	}
	return nil
}

// awaitsVolume reports whether containers might wait for an image volume at the instant t. No container waits if the
// kubelet has used the volume. If a pull of the volume's image failed, no container waits while an init container runs,
// or until a sidecar has passed its startup probe. During this time, the kubelet pulls the image again without delaying
// the pod.
func (f *fold) awaitsVolume(c *Container, t instant) bool {
	index := f.index(c.Name)
	return f.e.usedBy(index) == maxInstant && !(f.e.pullFailed(index) && f.initializes(t))
}

// initializes reports whether an init container or a sidecar was in one of these states at the instant t: the init
// container had run but had not succeeded, or the sidecar had run but had not passed its startup probe.
func (f *fold) initializes(t instant) bool {
	return slices.ContainsFunc(f.containers, func(c *Container) bool {
		index, done := f.index(c.Name), time.Time{}
		switch {
		case c.Kind == KindInit:
			done = f.successAt(index)
		case c.Kind == KindSidecar && c.StartupProbe:
			done = f.firstReached(index, MilestoneStarted)
		default:
			return false
		}
		ran := f.bounds.find(milestoneKey{index, 0, MilestoneRunning})
		return ran != nil && ran.estimate() <= t && (done.IsZero() || t < at(done))
	})
}

// isLaterPull reports whether the milestone of the boundary b belongs to a repeated pull of an image volume. A pull is
// repeated if an earlier pull of this volume's image failed.
func (f *fold) isLaterPull(b *boundary) bool {
	key := b.bound.key
	return key.container != podWide && key.attempt > 0 && f.e.isVolume(key.container)
}

// delaysNothing reports whether the milestone of the boundary b belongs to a pull of an image volume that did not delay
// the pod. The result is true if a pull of the volume's image failed, and initializes returns true for the time of the
// milestone.
func (f *fold) delaysNothing(b boundary) bool {
	index := b.bound.key.container
	return index != podWide && f.e.isVolume(index) && f.e.pullFailed(index) && f.initializes(b.bound.estimate())
}

// pullsAgain reports whether the kubelet asks the registry about an image volume at each sync of the pod.
func (c *Container) pullsAgain() bool { return c.Kind == KindImageVolume && c.PullPolicy == PullAlways }

// withVolumePulls examines whether pulls of image volumes might have taken most of a wait of the kubelet. If so,
// withVolumePulls adds the phases of these pulls to the possible phases of the wait. withVolumePulls considers only
// pulls after the first sync of the pod: pulls after a failed pull, and the pulls at each sync with the policy Always.
// The result "pulling" is the longest possible time of these pulls within the wait.
func (f *fold) withVolumePulls(
	from, to *bound, until instant, w phaseCandidates,
) (all phaseCandidates, pulling time.Duration) {
	awaits, mayFail := f.awaitsSync(from.key, w), false
	// After a failed pull, the next main container can wait for the volume.
	nextMain := w.phases[0] == PhaseKubeletSync && from.key.milestone == MilestoneRunning && to.key.container != podWide
	for _, c := range f.containers {
		if c.Kind != KindImageVolume || c.Name == w.container {
			continue
		}
		index := f.index(c.Name)
		failed, inPull := f.e.pullFailed(index), from.key.container == index && isUnfinishedPull(from.key.milestone)
		if inPull || awaits && c.pullsAgain() || failed && (awaits || nextMain) {
			pulling += f.laterPullTime(index, from, until)
			mayFail = mayFail || failed
		}
	}
	if w.phases[0] != PhaseKubeletSync || 2*pulling <= until.sub(from.estimate()) {
		return w, pulling
	}
	w.phases, w.container = uniquePhases(w.phases, alsoWholePull), ""
	if mayFail {
		w.phases = uniquePhases(w.phases, []Phase{PhaseImageBackoff})
	}
	return w, pulling
}

// awaitsSync reports whether a wait of the kubelet ends only at another sync of the pod. The wait begins with the
// milestone "from". In one sync, the kubelet starts all main containers, one after the other. Between the starts of two
// main containers, the kubelet does not pull the images of volumes.
func (f *fold) awaitsSync(from milestoneKey, w phaseCandidates) bool {
	switch w.phases[0] {
	case PhaseImageBackoff, PhaseCrashBackoff, PhaseContainerConfig:
		return true
	case PhaseKubeletSync, PhaseContainerCreate:
	default:
		return false
	}
	switch from.milestone {
	case MilestoneFinished, MilestonePullFailed:
		return true
	case MilestoneSandboxRunning:
		return from.attempt > 0
	case MilestoneRunning, MilestoneStarted:
		c := f.e.specOf(from.container)
		return w.phases[0] == PhaseKubeletSync && (w.attempt > 0 || c != nil && c.Kind == KindSidecar)
	}
	return isRefusal(from.milestone)
}

// isUnfinishedPull reports whether a pull is in progress immediately after the milestone.
func isUnfinishedPull(m Milestone) bool {
	switch m {
	case MilestonePullRequested, MilestonePullStarted, MilestonePullResolved, MilestonePullDownloaded:
		return true
	}
	return false
}

// laterPullTime returns how long, at most, the kubelet pulled the image of a volume between the milestone "from" and
// the instant "until". laterPullTime does not count the first attempt. If the Events might not show the start and the
// end of every later attempt, or if "from" is inside a pull of this volume, the result is the whole time from "from" to
// "until".
func (f *fold) laterPullTime(index int16, from *bound, until instant) (busy time.Duration) {
	evidence, p := f.e.pullEventsOf(index), &f.pulls[index]
	known := f.knowsAllEvents() && (from.key.container != index || !isUnfinishedPull(from.key.milestone))
	add := func(began, ended instant) {
		busy += max(0, min(ended, until).sub(max(began, from.estimate())))
	}
	requests, ended := 0, int(p.finalAttempt)
	for _, r := range evidence.requested {
		requests += r.count
	}
	if p.pulled.known() && !p.pulled.present {
		ended++
	}
	for attempt := uint16(1); int(attempt) < ended; attempt++ {
		if began, end := f.requestAndEnd(index, attempt); began != nil && end != nil {
			add(began.earliest, end.latest)
		} else {
			known = false
		}
	}
	for _, later := range evidence.laterPulled {
		if !later.present {
			add(later.latest-instant(later.lengths.Waiting+later.lengths.Unit)-responseDelay, later.latest)
			ended, known = ended+1, known && later.lengths.WaitingTimed
		}
	}
	if !known || requests != ended || requests == 0 {
		return until.sub(from.estimate())
	}
	return busy
}
