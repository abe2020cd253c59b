package timeline

import (
	"slices"
	"time"
)

// maxGrace limits grace periods, so that calculations with them do not overflow.
const maxGrace = 365 * 24 * time.Hour

// maxStops is the number of containers whose end is followed. Missing says that others were left out.
const maxStops = 64

// TerminationEvidence is all that is known about one pod's termination. It begins with the first pod object with a
// deletion request. Observations may be repeated. Pod objects and Events may arrive in any order, but the runtime's
// answers must arrive in the order in which it gave them. Not safe for concurrent use.
type TerminationEvidence struct {
	pod     Pod     // as last seen
	podAt   instant // its arrival
	created instant

	requestSecond instant // the control plane's timestamp, truncated to seconds
	learnedAt     instant // the arrival of the first pod object with the request
	learnedLive   bool    // it arrived live
	// The arrival of the first pod object that shows that the kubelet knows of the request; zero for never.
	observedAt    instant
	observedLive  bool          // it arrived live
	releasedAt    instant       // the arrival of the first pod object with grace 0, which the kubelet released; or zero
	hadFinalizers bool          // an object without grace had finalizers
	grace         time.Duration // the shortest that is not 0; 0 if there is none
	shortened     bool          // a longer one was seen, too: when the grace period ended is unknown
	stops         []stopEvidence
	overflow      bool

	sandboxReady instant // the latest question to the runtime with a ready sandbox; zero for never
	sandboxDown  instant // the first answer without a ready sandbox after that; zero for never

	gone     instant // zero while the object exists
	goneLive bool
}

// stopEvidence holds what is known about the end of a container's latest run.
type stopEvidence struct {
	name        string
	attempt     int
	seenRunning instant // the latest question to the runtime when it ran; zero for never
	killingAt   instant // the kubelet's Event Killing, by its name; zero without one

	finished instant // the runtime's timestamp; zero without one
	code     int
	reason   string

	statusSecond instant // the kubelet's truncated timestamp; zero without one
	statusAt     instant // when the pod object first reported the end; zero for never
	statusLive   bool
	statusCode   int
	statusReason string
	notStarted   bool // the latest pod object shows no run of it
	waitsForNext bool // the latest run has ended, and the kubelet waits before the next
}

// NewTerminationEvidence begins with an observation. It returns nil unless that is a pod object with a deletion
// request. The object of a static pod is a mirror, whose end is not the pod's.
func NewTerminationEvidence(o Observation) *TerminationEvidence {
	seen, ok := o.(PodSeen)
	if !ok || seen.Pod.DeletedAt.IsZero() || !seen.Pod.ReadAt.IsZero() {
		return nil
	}
	e := &TerminationEvidence{
		created:       at(seen.Pod.CreatedAt),
		requestSecond: at(seen.Pod.DeletedAt),
		learnedAt:     at(seen.ArrivedAt),
		learnedLive:   seen.Live,
	}
	e.Apply(o)
	return e
}

// Apply adds an observation about the pod and reports whether the evidence changed.
func (e *TerminationEvidence) Apply(o Observation) (changed bool) {
	switch o := o.(type) {
	case PodSeen:
		return e.applyPod(o)
	case PodGone:
		return e.first(&e.gone, &e.goneLive, o.ArrivedAt, o.Live)
	case RuntimeSeen:
		return e.applyRuntime(o)
	case EventSeen:
		return e.applyEvent(o)
	}
	return false
}

// first keeps the earlier arrival.
func (e *TerminationEvidence) first(kept *instant, live *bool, arrived time.Time, now bool) bool {
	if *kept != 0 && *kept <= at(arrived) {
		return false
	}
	*kept, *live = at(arrived), now
	return true
}

func (e *TerminationEvidence) applyPod(o PodSeen) (changed bool) {
	if o.Pod.DeletedAt.IsZero() {
		return false
	}
	latest := at(o.ArrivedAt) > e.podAt || at(o.ArrivedAt) == e.podAt && comparePods(&o.Pod, &e.pod) >= 0
	if latest {
		e.pod, e.podAt = o.Pod, at(o.ArrivedAt)
	}
	if at(o.ArrivedAt) < e.learnedAt {
		e.learnedAt, e.learnedLive, e.requestSecond, changed = at(o.ArrivedAt), o.Live, at(o.Pod.DeletedAt), true
	}
	switch grace := min(o.Pod.DeletionGrace, maxGrace); {
	case grace > 0 && e.grace == 0:
		e.grace, changed = grace, true
	case grace > 0 && grace != e.grace:
		changed = grace < e.grace || !e.shortened
		e.grace, e.shortened = min(grace, e.grace), true
	case grace <= 0:
		var live bool
		changed = e.first(&e.releasedAt, &live, o.ArrivedAt, o.Live) || changed || o.Pod.Finalizers && !e.hadFinalizers
		e.hadFinalizers = e.hadFinalizers || o.Pod.Finalizers
	}
	if o.Pod.DeletionObserved {
		changed = e.first(&e.observedAt, &e.observedLive, o.ArrivedAt, o.Live) || changed
	}
	for _, c := range o.Pod.Containers {
		if c.Kind != KindImageVolume {
			changed = e.applyStatus(c, o, latest) || changed
		}
	}
	return changed
}

// stop finds or adds a container's evidence; nil if there are too many.
func (e *TerminationEvidence) stop(name string) *stopEvidence {
	i := slices.IndexFunc(e.stops, func(s stopEvidence) bool { return s.name == name })
	if i >= 0 {
		return &e.stops[i]
	}
	if len(e.stops) == maxStops {
		e.overflow = true
		return nil
	}
	e.stops = append(e.stops, stopEvidence{name: name, attempt: -1})
	return &e.stops[len(e.stops)-1]
}

// accepts reports whether the evidence takes facts about a run. A later run replaces what was known about an earlier
// one.
func (s *stopEvidence) accepts(attempt int) bool {
	switch {
	case s == nil || attempt < s.attempt:
		return false
	case attempt > s.attempt:
		*s = stopEvidence{name: s.name, attempt: attempt, killingAt: s.killingAt}
	}
	return true
}

// applyStatus reads a container's status in a pod object, which need not be the latest.
func (e *TerminationEvidence) applyStatus(c Container, o PodSeen, latest bool) bool {
	s := e.stop(c.Name)
	if c.statusMissing() || !s.accepts(c.Attempt) {
		return false
	}
	before := *s
	if latest {
		s.notStarted = c.State == StateUnknown || c.State == StateWaiting && c.LastRun == nil
		s.waitsForNext = c.State == StateWaiting && c.LastRun != nil
	}
	if c.State == StateTerminated && e.first(&s.statusAt, &s.statusLive, o.ArrivedAt, o.Live) {
		s.statusCode, s.statusReason = c.ExitCode, c.EndReason
		if !c.FinishedAt.IsZero() {
			s.statusSecond = at(c.FinishedAt)
		}
	}
	return *s != before
}

// statusMissing reports whether the kubelet had no status of the container and invented one. Its exit code 137 is not
// from a real process, and its restart count is one too high if the container had run. It does so when a pod ends for
// each container that it does not find, such as those that never started (kubelet: status/status_manager.go,
// TerminatePod; kubelet_pods.go, convertToAPIContainerStatuses).
func (c Container) statusMissing() bool {
	return c.State == StateTerminated && c.EndReason == "ContainerStatusUnknown" && c.FinishedAt.IsZero()
}

func (e *TerminationEvidence) applyRuntime(o RuntimeSeen) (changed bool) {
	asked := at(o.AskedAt)
	ready := slices.ContainsFunc(o.Sandboxes, func(s Sandbox) bool { return s.Ready })
	switch {
	case ready && asked > e.sandboxReady:
		e.sandboxReady, changed = asked, true
		if e.sandboxDown != 0 && e.sandboxDown <= asked { // the kubelet created another one
			e.sandboxDown = 0
		}
	case !ready && at(o.ArrivedAt) > e.sandboxReady && (e.sandboxDown == 0 || at(o.ArrivedAt) < e.sandboxDown):
		e.sandboxDown, changed = at(o.ArrivedAt), true
	}
	for _, run := range o.Containers {
		if !e.pod.has(run.Name) {
			continue
		}
		s := e.stop(run.Name)
		if !s.accepts(run.Attempt) {
			continue
		}
		before := *s
		switch {
		case !run.FinishedAt.IsZero():
			s.finished, s.code, s.reason = at(run.FinishedAt), run.ExitCode, run.Reason
		case !run.StartedAt.IsZero():
			s.seenRunning = max(s.seenRunning, asked)
		}
		changed = changed || *s != before
	}
	return changed
}

// applyEvent reads from the Event Killing when the kubelet began to stop a container. The Event is created just
// before the hook runs and the runtime is asked (kubelet: kuberuntime/kuberuntime_container.go, killContainer). An
// Event from before the deletion belongs to an earlier stop.
func (e *TerminationEvidence) applyEvent(o EventSeen) bool {
	if o.Reason != "Killing" || o.NamedAt.IsZero() || o.NamedAt.Before(e.requestSecond.time()) ||
		!e.pod.has(o.Container) {
		return false
	}
	s := e.stop(o.Container)
	if named := at(o.NamedAt); s != nil && (s.killingAt == 0 || named < s.killingAt) {
		s.killingAt = named
		return true
	}
	return false
}

// Pod is the pod object as last seen.
func (e *TerminationEvidence) Pod() Pod { return e.pod }

// Over reports whether the object is gone, so that nothing more will be reported.
func (e *TerminationEvidence) Over() bool { return e.gone != 0 }
