package timeline

import "time"

// Reached describes the progress of a pod. Reached holds the best estimate of the time when the pod first
// reached each milestone. The time is zero if the pod did not reach the milestone, or if the time is unknown.
type Reached struct {
	ScheduledAt time.Time
	// InitializedAt is the time when every init container had succeeded and every sidecar had started. From this time
	// on, the kubelet could start the main containers. If a pod has no init containers and no sidecars, InitializedAt
	// is the time when the kubelet picked up the pod.
	InitializedAt time.Time
	ReadyAt       time.Time
	// Containers lists all containers except ephemeral containers. The list is in the order in which the kubelet
	// handles them.
	Containers []ContainerReached
}

// ContainerReached describes the progress of one container.
type ContainerReached struct {
	Name, Image string
	Kind        ContainerKind

	RunningAt time.Time // the start of the container's first run
	// StartedAt is the time when the container's startup probe passed. Without a startup probe, StartedAt is the end of
	// the post-start hook. Without a startup probe and without a hook, StartedAt is equal to RunningAt. StartedAt is
	// zero for init containers.
	StartedAt   time.Time
	ReadyAt     time.Time // zero for init containers
	SucceededAt time.Time // end of the first run with exit code 0; only for init containers
}

// PassedAt returns the time from which the kubelet no longer waited for an init container or a sidecar.
func (c ContainerReached) PassedAt() time.Time {
	if c.Kind == KindSidecar {
		return c.StartedAt
	}
	return c.SucceededAt
}

// BeforeMain reports whether the main containers wait for this container.
func (c ContainerReached) BeforeMain() bool { return c.Kind == KindInit || c.Kind == KindSidecar }

func (f *fold) reached() Reached {
	r := Reached{
		ScheduledAt:   f.estimateOf(podMilestone(MilestoneScheduled)),
		InitializedAt: f.estimateOf(podMilestone(MilestoneAcknowledged)),
		ReadyAt:       f.estimateOf(podMilestone(MilestoneReady)), Containers: make([]ContainerReached, 0,
			len(f.containers)),
	}
	known := true
	for _, c := range f.containers {
		container := f.containerReached(c)
		r.Containers = append(r.Containers, container)
		if !container.BeforeMain() {
			continue
		}
		at := container.PassedAt()
		known = known && !at.IsZero()
		r.InitializedAt = later(at, r.InitializedAt)
	}
	if !known {
		r.InitializedAt = time.Time{}
	}
	return r
}

func (f *fold) containerReached(c *Container) ContainerReached {
	r := ContainerReached{Name: c.Name, Image: c.Image, Kind: c.Kind}
	index := f.index(c.Name)
	if c.Kind != KindImageVolume {
		r.RunningAt = f.estimateOf(milestoneKey{index, 0, MilestoneRunning})
	}
	switch c.Kind {
	case KindInit:
		r.SucceededAt = f.successAt(index)
	case KindSidecar, KindMain:
		r.ReadyAt = f.firstReached(index, MilestoneContainerReady)
		switch { // the kubelet uses the same rules (pkg/kubelet/prober, UpdatePodStatus)
		case c.StartupProbe:
			r.StartedAt = f.firstReached(index, MilestoneStarted)
		case c.PostStartHook:
			r.StartedAt = f.hookEndedAt(index)
		default:
			r.StartedAt = r.RunningAt
		}
	}
	return r
}

// hookEndedAt returns the time when a container's post-start hook first ended. A container counts as started only after
// its hook. So the result is never later than the latest possible time of MilestoneStarted.
func (f *fold) hookEndedAt(index int16) time.Time {
	over := f.firstReached(index, MilestonePostStarted)
	if b := f.bounds.find(milestoneKey{index, 0, MilestoneStarted}); b != nil && at(over) > b.latest && !over.IsZero() {
		return b.latest.time()
	}
	return over
}

// successAt returns the time when the container first ended with exit code 0.
func (f *fold) successAt(index int16) time.Time {
	for attempt := range uint16(maxAttempts) {
		if code, known := f.e.containers[index].exitCode(int(attempt)); known && code == 0 {
			return f.estimateOf(milestoneKey{index, attempt, MilestoneFinished})
		}
	}
	return time.Time{}
}

// firstReached returns the time of the milestone in the first attempt that reached the milestone.
func (f *fold) firstReached(index int16, m Milestone) time.Time {
	for attempt := range uint16(maxAttempts) {
		if at := f.estimateOf(milestoneKey{index, attempt, m}); !at.IsZero() {
			return at
		}
	}
	return time.Time{}
}

// estimateOf returns the estimate of a milestone, or the zero time if the milestone is unknown.
func (f *fold) estimateOf(k milestoneKey) time.Time {
	if b := f.bounds.find(k); b != nil {
		return b.estimate().time()
	}
	return time.Time{}
}
