package timeline

import "time"

// relistEvery is the interval at which the kubelet lists the running containers (pkg/kubelet, plegRelistPeriod).
// So the kubelet usually detects the end of an init container within this interval.
const relistEvery = time.Second

// The kubelet works on one container at a time: it checks or pulls the image, creates the container and starts it, and
// only then continues with the next container (startContainer in pkg/kubelet/kuberuntime). So the kubelet checks a
// container's image only after it is done with the earlier containers.

// workStart returns the earliest possible start of the kubelet's work on a container. workStart considers only the
// attempt that created the container. The kubelet starts this work after the start of the sandbox, after the end of
// each earlier init container, and after the start of each container that ran before this container's creation. The
// kubelet can skip a container, for example during its back-off, and first create containers that come later in the
// spec. If an earlier creation of the container failed, an earlier attempt might have pulled the image. So after a
// failed creation, workStart uses only conditions that are true for every attempt.
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
				start = known.earliest // for some runtimes, the start of the sandbox has no upper bound
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
// kubelet starts this work only after the start of the sandbox, and some runtimes do not report this start. The kubelet
// detects the end of an init container and the start of a sidecar only when it lists the running containers, so the
// work on the next container starts with a delay. The kubelet also waits for a sidecar's startup probe, for a
// post-start hook, and during back-off. After the last of these waits, the kubelet creates the container immediately.
func (f *fold) mayStartWorkLater(c *Container, index int16, then instant) bool {
	if f.pulls[index].finalAttempt > 0 {
		return f.e.createdSince(index)-then > instant(statusPatience)
	}
	if begun, known := f.e.latestTime(podMilestone(MilestoneSandboxRunning)); !known || then < begun {
		return true
	}
	for i := range f.e.pod.Containers {
		before := &f.e.pod.Containers[i]
		if before.Name == c.Name {
			break
		}
		over := minInstant
		switch of := f.index(before.Name); {
		case of == podWide:
		case before.Kind == KindInit:
			if ended := f.e.latestSuccess(of); ended != minInstant {
				over = ended + instant(relistEvery)
			}
		case before.Kind == KindSidecar && before.StartupProbe: // the probe begins after the hook
			over, _ = f.e.latestTime(milestoneKey{of, 0, MilestoneStarted})
		case before.PostStartHook:
			over, _ = f.e.latestTime(milestoneKey{of, 0, MilestonePostStarted})
		case before.Kind == KindSidecar:
			if ran, known := f.e.latestTime(milestoneKey{of, 0, MilestoneRunning}); known {
				over = ran + instant(statusPatience)
			}
		}
		if then <= over {
			return true
		}
	}
	return false
}

// latestSuccess returns the latest possible time at which an init container succeeded, or minInstant if unknown.
func (e *Evidence) latestSuccess(index int16) instant {
	ended := minInstant
	for attempt := range uint16(maxAttempts) {
		if code, known := e.containers[index].exitCode(int(attempt)); known && code == 0 {
			if at, known := e.latestTime(milestoneKey{index, attempt, MilestoneFinished}); known {
				ended = max(ended, at)
			}
		}
	}
	return ended
}
