package timeline

import "time"

// relistEvery is the interval at which the kubelet lists the node's containers (pkg/kubelet, plegRelistPeriod).
// So the kubelet usually detects the end of an init container within this interval.
const relistEvery = time.Second

// The kubelet works on one container at a time: it checks or pulls the image, creates the container and starts it, and
// only then continues with the next container (startContainer in pkg/kubelet/kuberuntime). So the kubelet checks a
// container's image only after it is done with the earlier containers.

// workStart returns the earliest possible start of the kubelet's work on a container. workStart considers only the
// attempt that created the container. Three things happen before this work:
//   - The sandbox starts.
//   - Each earlier init container ends.
//   - Each other container starts, if it ran before this container was created.
//
// The kubelet can skip a container, for example during a back-off, and first create containers that come later in the
// spec. If an earlier creation of the container failed, an earlier attempt might have pulled the image. So if a
// creation failed, workStart uses only conditions that are true for every attempt.
func (e *Evidence) workStart(c *Container) instant {
	index := e.indexOf(c.Name)
	start, created, failed, volume := minInstant, e.createdSince(index), e.createFailed(index), e.isVolume(index)
	if volume { // the kubelet pulls image volumes before it starts any container
		created = e.usedBy(index)
	}
	for _, known := range e.constraints {
		if known.origin > originStatus || known.earliest <= start || known.key.container == index {
			continue
		}
		switch {
		case known.key.container == podWide:
			if known.key.milestone == MilestoneSandboxRunning && known.origin <= originStore &&
				known.earliest <= created {
				start = known.earliest // for some runtimes, the latest possible start is unknown
			}
		case volume, known.latest > created:
		case known.key.milestone == MilestoneRunning && !failed, e.mustPrecede(known.key, c):
			start = known.earliest
		}
	}
	return start
}

// mustPrecede reports whether the milestone k of another container always comes before the kubelet's work on the
// container c.
func (e *Evidence) mustPrecede(k milestoneKey, c *Container) bool {
	if k.milestone != MilestoneRunning && k.milestone != MilestoneFinished {
		return false
	}
	before := e.predecessor(e.containers[k.container].name, c)
	return before != nil &&
		(before.Kind == KindInit || before.Kind == KindSidecar && k.milestone == MilestoneRunning && k.attempt == 0)
}

// predecessor returns the container with the given name if the kubelet works on it before the container c. Otherwise,
// predecessor returns nil.
func (e *Evidence) predecessor(name string, c *Container) *Container {
	for i := range e.pod.Containers {
		switch before := &e.pod.Containers[i]; before.Name {
		case c.Name:
			return nil
		case name:
			return before
		}
	}
	return nil
}

// mayStartWorkLater reports whether the kubelet might have started work on a container after the instant "then". The
// kubelet starts this work only after the start of the sandbox, and some runtimes do not report this start. Before
// this work, the kubelet only receives the runtime's response and asks for the state of the sandbox (SyncPod in
// pkg/kubelet/kuberuntime). This takes at most responseDelay. In this time, another pod's pull can end, but not a
// whole pull with the request for the manifest. The kubelet detects two events only when it lists the running
// containers: the end of an init container, and the start of a sidecar. So the work on the next container starts with
// a delay. Before this work, the kubelet also waits for a sidecar's startup probe, for a post-start hook, and during a
// back-off. When the kubelet no longer has to wait, it creates the next container immediately.
func (f *fold) mayStartWorkLater(c *Container, index int16, then instant) bool {
	if f.pulls[index].finalAttempt > 0 {
		return f.e.createdSince(index)-then > instant(statusPatience)
	}
	begun := maxInstant
	for attempt := range uint16(maxAttempts) {
		if by, known := f.e.latestTime(milestoneKey{podWide, attempt, MilestoneSandboxRunning}); known {
			begun = min(begun, by)
		}
	}
	if then < begun || begun != maxInstant && then < begun+responseDelay && !f.manifestCameSince(c, begun) {
		return true
	}
	for i := range f.e.pod.Containers {
		before := &f.e.pod.Containers[i]
		if before.Name == c.Name {
			break
		}
		if over, waits := f.waitEnd(before, index); waits && then <= over {
			return true
		}
	}
	return false
}

// manifestCameSince reports whether the manifest of a container's image first arrived on the node at or after an
// instant.
func (f *fold) manifestCameSince(c *Container, since instant) bool {
	image := f.usedImage(c)
	return image != nil && image.withLayers != nil && !image.withLayers.ResolvedAt.IsZero() &&
		at(image.withLayers.ResolvedAt) >= since
}

// waitEnd returns the latest possible end of the delay that a container causes for a later container, or maxInstant if
// the end is unknown. The argument "later" is the index of the later container. If the container causes no delay,
// waits is false. If the pull of an image volume failed, a container that mounts the volume waits until a later pull
// succeeds.
func (f *fold) waitEnd(before *Container, later int16) (over instant, waits bool) {
	index, m, slack := f.index(before.Name), MilestoneRunning, instant(statusPatience)
	switch {
	case index == podWide:
		return 0, false
	case before.Kind == KindInit:
		return f.e.successDetected(index), true
	case before.Kind == KindSidecar && before.StartupProbe: // the startup probe begins after the post-start hook
		m, slack = MilestoneStarted, 0
	case before.PostStartHook:
		m, slack = MilestonePostStarted, 0
	case before.Kind == KindImageVolume:
		return maxInstant, f.e.mayBePulled(*before) && before.PullPolicy != PullNever
	case before.Kind != KindSidecar:
		return f.mainWaitEnd(before, index, later)
	}
	return f.e.detected(milestoneKey{index, 0, m}, slack), true
}

// mainWaitEnd returns the same results as waitEnd for a main container without a post-start hook. The kubelet continues
// with the later container when this container runs, or when its image pull, its creation or its start has failed. Each
// of these steps can take time. If this container was created before the later container, the container causes no delay
// here, because workStart already considers its start.
func (f *fold) mainWaitEnd(before *Container, index, later int16) (over instant, waits bool) {
	created, next := f.e.createdBy(index), f.e.createdSince(later)
	switch failures := f.pulls[index].failures; {
	case created < next && next != maxInstant:
		return 0, false
	case created < next: // the kubelet might still start this container
		return f.e.firstTryEnd(index), true
	case len(failures) > 0:
		return failures[len(failures)-1].latest, true
	case f.e.mayBePulled(*before):
		return maxInstant, before.PullPolicy != PullNever
	}
	return f.e.firstTryEnd(index), true
}

// firstTryEnd returns the latest possible end of the kubelet's first attempt to create and start a container. If the
// attempt might still be in progress, firstTryEnd returns maxInstant.
func (e *Evidence) firstTryEnd(index int16) instant {
	end := maxInstant
	for _, c := range e.constraints {
		if c.key.container != index {
			continue
		}
		switch c.key.milestone {
		case MilestoneRunning, MilestoneFinished, MilestoneConfigRefused, MilestoneCreateFailed,
			MilestoneNameRefused, MilestoneInspectFailed:
			end = min(end, c.latest)
		}
	}
	return end
}

// successDetected returns the latest time at which the kubelet detected the success of an init container, or maxInstant
// if this time is unknown. If several runs succeeded, for example because the pod lost its sandbox, the last run
// counts.
func (e *Evidence) successDetected(index int16) instant {
	over := maxInstant
	for attempt := range uint16(maxAttempts) {
		if code, known := e.containers[index].exitCode(int(attempt)); known && code == 0 {
			over = e.detected(milestoneKey{index, attempt, MilestoneFinished}, instant(relistEvery))
		}
	}
	return over
}

// detected returns the latest time at which the kubelet detected a change of a container, or maxInstant if this time is
// unknown. The argument "slack" is the usual maximum time until the kubelet detects the change. But on a node with many
// containers, the kubelet can need seconds to list the containers (pleg/generic.go). The kubelet writes the change to
// the pod's status before it continues with the next container (SyncPod in pkg/kubelet). So the kubelet detected the
// change before the first pod object with the change arrived. As long as no pod object with the change has arrived, the
// kubelet might not have detected the change yet.
func (e *Evidence) detected(k milestoneKey, slack instant) instant {
	reported, seen := e.arrivalOf(k)
	if !seen {
		return maxInstant
	}
	changed, _ := e.latestTime(k)
	return max(changed+slack, reported)
}
