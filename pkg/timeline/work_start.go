package timeline

import "time"

// relistEvery is how often the kubelet lists the running containers (pkg/kubelet, plegRelistPeriod). So it usually
// sees the end of an init container at most that late.
const relistEvery = time.Second

// The kubelet takes a container from its image to its start without interruption (pkg/kubelet/kuberuntime,
// startContainer), one container after the other. So the steps before the creation of a container bound the time at
// which the kubelet checked that container's image.

// workStart is the earliest instant at which the kubelet started working on a container, in the attempt in which it
// created the container. By then the sandbox ran, the init containers before it had ended, and every container that ran
// before this one was created had been started. A container that ran later was skipped, for example in back-off. If the
// creation failed before, the image may have been pulled in an earlier attempt. So only conditions that every attempt
// waits for count.
func (e *Evidence) workStart(c *Container) instant {
	index := e.indexOf(c.Name)
	start, created, failed, volume := minInstant, e.createdSince(index), e.createFailed(index), e.isVolume(index)
	if volume { // comes before every container
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
				start = known.earliest // some runtimes give no latest instant
			}
		case volume, known.latest > created:
		case known.key.milestone == MilestoneRunning && !failed, e.mustPrecede(known.key, c):
			start = known.earliest
		}
	}
	return start
}

// mustPrecede reports whether the kubelet starts working on a container no sooner than at that milestone of another
// one.
func (e *Evidence) mustPrecede(k milestoneKey, c *Container) bool {
	if k.milestone != MilestoneRunning && k.milestone != MilestoneFinished {
		return false
	}
	before := e.predecessor(e.containers[k.container].name, c)
	return before != nil &&
		(before.Kind == KindInit || before.Kind == KindSidecar && k.milestone == MilestoneRunning && k.attempt == 0)
}

// predecessor returns the container of that name if the kubelet works on it before the other container; otherwise nil.
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

// mayStartWorkLater reports whether the kubelet may have started working on a container only after an instant,
// although the previous container was over long before. The kubelet sees the end of an init container when it lists
// the running containers, and it waits for a sidecar's startup probe, for a post-start hook, and in back-off. After
// that it creates the container at once.
func (f *fold) mayStartWorkLater(c *Container, index int16, then instant) bool {
	if f.pulls[index].finalAttempt > 0 {
		return f.e.createdSince(index)-then > instant(statusPatience)
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
			if ended := f.e.succeeded(of); ended != minInstant {
				over = ended + instant(relistEvery)
			}
		case before.PostStartHook:
			over, _ = f.e.latest(milestoneKey{of, 0, MilestonePostStarted})
		case before.Kind == KindSidecar && before.StartupProbe:
			over, _ = f.e.latest(milestoneKey{of, 0, MilestoneStarted})
		}
		if then <= over {
			return true
		}
	}
	return false
}

// succeeded is the latest instant at which an init container had succeeded; minInstant if unknown.
func (e *Evidence) succeeded(index int16) instant {
	ended := minInstant
	for attempt := range uint16(maxAttempts) {
		if code, known := e.containers[index].exitCode(int(attempt)); known && code == 0 {
			if at, known := e.latest(milestoneKey{index, attempt, MilestoneFinished}); known {
				ended = max(ended, at)
			}
		}
	}
	return ended
}
