package timeline

import "time"

// Reached is how far a pod came: the best estimates, each inside its mark's interval, of when it got there first. What
// was not reached, or is not known, is zero.
type Reached struct {
	ScheduledAt time.Time
	// InitializedAt is when nothing was left to wait for before the main containers: every init container had
	// succeeded and every sidecar had started. A pod without any is initialized when the kubelet takes it up.
	InitializedAt time.Time
	ReadyAt       time.Time
	// Containers are the pod's in the order in which the kubelet works on them, without ephemeral ones.
	Containers []ContainerReached
}

// ContainerReached is how far one container came.
type ContainerReached struct {
	Name, Image string
	Kind        ContainerKind

	RunningAt time.Time // of its first run
	// StartedAt is when its startup probe passed; without one when it ran, and its post-start hook was over. Zero for
	// init containers, of which that is of no interest.
	StartedAt   time.Time
	ReadyAt     time.Time // zero for init containers
	SucceededAt time.Time // its first end with exit code 0; of init containers alone
}

// PassedAt is when the kubelet could turn to the container after it, of an init container or a sidecar.
func (c ContainerReached) PassedAt() time.Time {
	if c.Kind == KindSidecar {
		return c.StartedAt
	}
	return c.SucceededAt
}

// BeforeMain says that main containers wait for this one.
func (c ContainerReached) BeforeMain() bool { return c.Kind == KindInit || c.Kind == KindSidecar }

func (f *fold) reached() Reached {
	r := Reached{
		ScheduledAt: f.when(podMark(MarkScheduled)), InitializedAt: f.when(podMark(MarkAcknowledged)),
		ReadyAt: f.when(podMark(MarkReady)), Containers: make([]ContainerReached, 0, len(f.containers)),
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
		r.RunningAt = f.when(markKey{index, 0, MarkRunning})
	}
	switch c.Kind {
	case KindInit:
		r.SucceededAt = f.succeeded(index)
	case KindSidecar, KindMain:
		r.ReadyAt = f.first(index, MarkContainerReady)
		switch { // as the kubelet does (pkg/kubelet/prober, UpdatePodStatus)
		case c.StartupProbe:
			r.StartedAt = f.first(index, MarkStarted)
		case c.PostStartHook:
			r.StartedAt = f.hookOver(index)
		default:
			r.StartedAt = r.RunningAt
		}
	}
	return r
}

// hookOver is when a container's post-start hook was first over: no later than the container was started, of which other marks may tell
// more.
func (f *fold) hookOver(index int16) time.Time {
	over := f.first(index, MarkPostStarted)
	if b := f.bounds.find(markKey{index, 0, MarkStarted}); b != nil && at(over) > b.latest && !over.IsZero() {
		return b.latest.time()
	}
	return over
}

// succeeded is when the container first ended with exit code 0.
func (f *fold) succeeded(index int16) time.Time {
	for attempt := range uint16(maxAttempts) {
		if code, known := f.e.containers[index].exitCode(int(attempt)); known && code == 0 {
			return f.when(markKey{index, attempt, MarkFinished})
		}
	}
	return time.Time{}
}

// first is the mark of the first attempt that came so far.
func (f *fold) first(index int16, m Mark) time.Time {
	for attempt := range uint16(maxAttempts) {
		if at := f.when(markKey{index, attempt, m}); !at.IsZero() {
			return at
		}
	}
	return time.Time{}
}

// when is the estimate of a mark; zero when it is not known.
func (f *fold) when(k markKey) time.Time {
	if b := f.bounds.find(k); b != nil {
		return b.estimate().time()
	}
	return time.Time{}
}
