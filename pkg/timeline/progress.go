package timeline

import "time"

// Reached is how far a pod came: for each milestone the best estimate of when it was first reached. A milestone that
// was not reached, or is unknown, is zero.
type Reached struct {
	ScheduledAt time.Time
	// InitializedAt is when the main containers no longer had to wait: every init container had succeeded and every
	// sidecar had started. A pod without any is initialized when the kubelet picks it up.
	InitializedAt time.Time
	ReadyAt       time.Time
	// Containers are in the order in which the kubelet works on them, without ephemeral ones.
	Containers []ContainerReached
}

// ContainerReached is how far one container came.
type ContainerReached struct {
	Name, Image string
	Kind        ContainerKind

	RunningAt time.Time // of its first run
	// StartedAt is when its startup probe passed. Without a probe, it is when the container ran and its post-start
	// hook had ended. Zero for init containers.
	StartedAt   time.Time
	ReadyAt     time.Time // zero for init containers
	SucceededAt time.Time // its first end with exit code 0; only for init containers
}

// PassedAt is when the kubelet could continue after an init container or a sidecar.
func (c ContainerReached) PassedAt() time.Time {
	if c.Kind == KindSidecar {
		return c.StartedAt
	}
	return c.SucceededAt
}

// BeforeMain reports whether the main containers wait for this one.
func (c ContainerReached) BeforeMain() bool { return c.Kind == KindInit || c.Kind == KindSidecar }

func (f *fold) reached() Reached {
	r := Reached{
		ScheduledAt:   f.when(podMilestone(MilestoneScheduled)),
		InitializedAt: f.when(podMilestone(MilestoneAcknowledged)),
		ReadyAt:       f.when(podMilestone(MilestoneReady)), Containers: make([]ContainerReached, 0, len(f.containers)),
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
		if at.After(r.InitializedAt) {
			r.InitializedAt = at
		}
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
		r.RunningAt = f.when(milestoneKey{index, 0, MilestoneRunning})
	}
	switch c.Kind {
	case KindInit:
		r.SucceededAt = f.succeeded(index)
	case KindSidecar, KindMain:
		r.ReadyAt = f.first(index, MilestoneContainerReady)
		switch { // as the kubelet does (pkg/kubelet/prober, UpdatePodStatus)
		case c.StartupProbe:
			r.StartedAt = f.first(index, MilestoneStarted)
		case c.PostStartHook:
			r.StartedAt = f.hookOver(index)
		default:
			r.StartedAt = r.RunningAt
		}
	}
	return r
}

// hookOver is when a container's post-start hook first ended. That is not after the container's start, which other
// milestones may date better.
func (f *fold) hookOver(index int16) time.Time {
	over := f.first(index, MilestonePostStarted)
	if b := f.bounds.find(milestoneKey{index, 0, MilestoneStarted}); b != nil && at(over) > b.latest && !over.IsZero() {
		return b.latest.time()
	}
	return over
}

// succeeded is when the container first ended with exit code 0.
func (f *fold) succeeded(index int16) time.Time {
	for attempt := range uint16(maxAttempts) {
		if code, known := f.e.containers[index].exitCode(int(attempt)); known && code == 0 {
			return f.when(milestoneKey{index, attempt, MilestoneFinished})
		}
	}
	return time.Time{}
}

// first is the milestone of the first attempt that reached it.
func (f *fold) first(index int16, m Milestone) time.Time {
	for attempt := range uint16(maxAttempts) {
		if at := f.when(milestoneKey{index, attempt, m}); !at.IsZero() {
			return at
		}
	}
	return time.Time{}
}

// when is the estimate of a milestone; zero if unknown.
func (f *fold) when(k milestoneKey) time.Time {
	if b := f.bounds.find(k); b != nil {
		return b.estimate().time()
	}
	return time.Time{}
}
