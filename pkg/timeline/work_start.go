package timeline

import "time"

// relistEvery is how often the kubelet lists what runs (pkg/kubelet, plegRelistPeriod): so late it sees at the latest, as a
// rule, that an init container ended.
const relistEvery = time.Second

// The kubelet takes a container from its image to its start in one go (pkg/kubelet/kuberuntime, startContainer), one container
// after the other. So what it did before it made a container bounds when it looked for that container's image.

// workStart is when the kubelet turned at the earliest to a container, in the go in which it was made: the sandbox ran then, the init
// containers before it had ended, and so had the start of every container that ran before it was made. One that ran later
// was passed over, as in back-off. A container that was refused had an earlier go, in which it may have been pulled, and
// only what every go waits for counts.
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
			if known.key.mark == MarkSandboxRunning && known.origin <= originStore && known.earliest <= created {
				start = known.earliest // its latest instant is not known of every runtime
			}
		case volume, known.latest > created:
		case known.key.mark == MarkRunning && !failed, e.mustPrecede(known.key, c):
			start = known.earliest
		}
	}
	return start
}

// mustPrecede says that the kubelet turns to a container no sooner than at that mark of another one.
func (e *Evidence) mustPrecede(k markKey, c *Container) bool {
	if k.mark != MarkRunning && k.mark != MarkFinished {
		return false
	}
	before := e.predecessor(e.containers[k.container].name, c)
	return before != nil && (before.Kind == KindInit || before.Kind == KindSidecar && k.mark == MarkRunning && k.attempt == 0)
}

// predecessor is the container of that name if the kubelet works on it before another one; else nil.
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

// mayStartWorkLater says that the kubelet may have turned to a container only after an instant, long as the one before was over by
// then: it sees that an init container ended when it lists what runs, waits for a sidecar's startup probe and for a post-start
// hook, and in back-off; from that it goes on to making the container at once.
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
			over, _ = f.e.latest(markKey{of, 0, MarkPostStarted})
		case before.Kind == KindSidecar && before.StartupProbe:
			over, _ = f.e.latest(markKey{of, 0, MarkStarted})
		}
		if then <= over {
			return true
		}
	}
	return false
}

// succeeded is when an init container had ended for good at the latest; minInstant while nothing tells.
func (e *Evidence) succeeded(index int16) instant {
	ended := minInstant
	for attempt := range uint16(maxAttempts) {
		if code, known := e.containers[index].exitCode(int(attempt)); known && code == 0 {
			if at, known := e.latest(markKey{index, attempt, MarkFinished}); known {
				ended = max(ended, at)
			}
		}
	}
	return ended
}
