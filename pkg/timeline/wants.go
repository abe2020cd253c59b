package timeline

import "time"

// How long to wait for evidence that should be on its way.
const (
	// evidenceGrace is how long after the end of start-up late evidence is waited for: a runtime look-up
	// and the Events that kubelet sends beside its status.
	evidenceGrace = 3 * time.Second
	// reaskAfter is how long after an answer that did not hold what the pod object tells the runtime is
	// asked again.
	reaskAfter = time.Second
)

// Wants says what could be fetched now to complete the timeline.
func (e *Evidence) Wants(now time.Time) Wants {
	if !e.PodSeen() || e.gone || e.firstSeen.over && !e.firstSeen.live {
		return Wants{}
	}
	if end, over := e.over(); over && now.Sub(end) > evidenceGrace {
		return Wants{}
	}
	var w Wants
	if e.available.Runtime {
		w.Images = e.wantedImages()
		w.Runtime = len(w.Images) > 0 || e.podSeenAt.After(e.runtimeAskedAt) && !e.runtimeComplete() ||
			e.runtimeBehind() && now.Sub(e.runtimeAskedAt) > reaskAfter
	}
	w.Events = e.available.Events && e.wantsEvents()
	return w
}

// Settled says that start-up is over and nothing more that matters will come: every want is met or its
// grace has passed.
func (e *Evidence) Settled(now time.Time) bool {
	end, over := e.over()
	if !over {
		return false
	}
	w := e.Wants(now)
	return !w.Runtime && !w.Events || now.Sub(end) > evidenceGrace
}

// Ended says that start-up is over, though evidence may still be on its way.
func (e *Evidence) Ended() bool {
	_, over := e.over()
	return over
}

// over says whether and when the agent learned that start-up ended.
func (e *Evidence) over() (learnedAt time.Time, over bool) {
	for _, m := range []Mark{MarkReady, MarkSucceeded, MarkFailed, MarkDeleted} {
		for _, c := range e.claims {
			if c.key == podMark(m) && c.origin == originArrival {
				return c.latest.time(), true
			}
		}
	}
	return time.Time{}, false
}

// wantedImages are the references whose presence says whether kubelet pulls: each is asked about once,
// and once more after a pull that may have brought nothing new.
func (e *Evidence) wantedImages() []string {
	var refs []string
	for _, c := range e.pod.Containers {
		image := e.image(c.Image)
		switch {
		case c.Kind == KindEphemeral || c.PullPolicy == PullNever:
		case image == nil:
			refs = append(refs, c.Image)
		default:
			index, evidence := e.container(c.Name)
			if index != podWide && evidence.pulled.known() && !evidence.pulled.present && image.Present &&
				!image.lastAt.After(evidence.pulled.latest.time()) {
				refs = append(refs, c.Image)
			}
		}
	}
	return refs
}

// runtimeComplete says that the runtime has told all it can of the way to readiness.
func (e *Evidence) runtimeComplete() bool {
	_, over := e.over()
	return over && !e.runtimeBehind()
}

// runtimeBehind says that the pod object tells of runs that the runtime has not shown.
func (e *Evidence) runtimeBehind() bool {
	for _, c := range e.pod.Containers {
		if c.Kind == KindEphemeral || c.State != StateRunning && c.State != StateTerminated {
			continue
		}
		index, evidence := e.container(c.Name)
		if evidence == nil {
			continue
		}
		if !e.fromRuntime(markKey{index, clampAttempt(c.Attempt), MarkRunning}) ||
			c.State == StateTerminated && !e.fromRuntime(markKey{index, clampAttempt(c.Attempt), MarkFinished}) {
			return true
		}
	}
	return false
}

func (e *Evidence) fromRuntime(k markKey) bool {
	for _, c := range e.claims {
		if c.key == k && c.origin == originRuntime {
			return true
		}
	}
	return false
}

// wantsEvents says that a container waits for a pull, or was pulled for, and kubelet's word on it has
// not come. A pod whose images are all on the node wants none.
func (e *Evidence) wantsEvents() bool {
	for _, c := range e.pod.Containers {
		if c.Kind == KindEphemeral || c.PullPolicy == PullNever {
			continue
		}
		_, evidence := e.container(c.Name)
		if evidence == nil || evidence.pulled.known() {
			continue
		}
		if c.PullPolicy == PullAlways || e.mayBePulled(c) {
			return true
		}
	}
	return false
}

// mayBePulled says whether evidence leaves room for a pull of this container's image.
func (e *Evidence) mayBePulled(c Container) bool {
	image := e.image(c.Image)
	switch {
	case !e.available.Runtime:
		return true
	case image == nil:
		return false // the answer will tell
	case !image.Present:
		return true
	}
	return !image.beforeSandbox && !e.pulledBefore(image)
}
