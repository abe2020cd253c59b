package timeline

import (
	"slices"
	"time"
)

// maxGrace limits grace periods. The limit prevents overflows in calculations with grace periods.
const maxGrace = 365 * 24 * time.Hour

// maxStops is the maximum number of containers whose end TerminationEvidence follows. If a pod has more than maxStops
// containers, Termination.Missing contains an entry about the limit.
const maxStops = 64

// TerminationEvidence holds all known facts about one pod's termination. TerminationEvidence begins with the
// first pod object that contains a deletion request. The same observation can arrive several times. Pod objects and
// Events can arrive in any order, but the runtime's responses must arrive in their original order. TerminationEvidence
// is not safe for concurrent use.
type TerminationEvidence struct {
	pod     Pod     // the latest pod object
	podAt   instant // the arrival of the latest pod object
	created instant
	clock   ClockLog

	requestSecond instant // the control plane's timestamp of the deletion request, truncated to seconds
	learnedAt     instant // the arrival of the first pod object with the deletion request
	learnedLive   bool    // a watch (not a list) delivered the pod object that set learnedAt
	// observedAt is the arrival of the first pod object that shows that the kubelet knows about the deletion request.
	// Zero means never.
	observedAt   instant
	observedLive bool // a watch (not a list) delivered the pod object that set observedAt
	// releasedAt is the arrival of the first pod object with the grace period 0. The kubelet sets this grace period
	// when it releases the object. Zero means never.
	releasedAt    instant
	hadFinalizers bool          // a pod object with the grace period 0 had finalizers
	grace         time.Duration // the shortest grace period above 0; 0 if there is none
	longest       time.Duration // the longest grace period; zero if all grace periods are zero
	shortestAt    instant       // the arrival of the first pod object with the shortest grace period; zero if none
	shortened     bool          // the grace period changed, so the time of its end is unknown
	stops         []stopEvidence
	overflow      bool

	sandboxReady instant // the latest request to the runtime that found a ready sandbox; zero if there is none
	sandboxDown  instant // the first response after sandboxReady without a ready sandbox; zero if there is none
	// networkLast is true if the runtime calls the network plugin after the sandbox has stopped. An example is
	// containerd. CRI-O calls the plugin before the sandbox stops, and CRI-O never reports when a sandbox began.
	networkLast bool

	gone     instant // when the agent learned that the object was gone; zero while the object exists
	goneLive bool
}

// stopEvidence holds the facts about the end of a container's latest run.
type stopEvidence struct {
	name        string
	attempt     int
	seenRunning instant // the latest request to the runtime that found the container running; zero if there is none
	killingAt   instant // the earliest time of the kubelet's Killing Events; zero without such an Event
	killingLast instant // the latest time of the kubelet's Killing Events; zero without such an Event

	finished instant // the runtime's timestamp of the end; zero if there is none
	code     int
	reason   string

	statusSecond instant // the kubelet's timestamp of the end, truncated to seconds; zero if there is none
	statusAt     instant // the arrival of the first pod object that reports the end; zero if there is none
	statusLive   bool
	statusCode   int
	statusReason string
	notStarted   bool // the latest pod object reports no run of the container
	waitsForNext bool // the latest run has ended, and the next run has not started
}

// NewTerminationEvidence creates the evidence from its first observation o. NewTerminationEvidence returns nil if the
// observation is not a pod object with a deletion request. NewTerminationEvidence also returns nil for a static pod,
// because the end of its mirror object is not the end of the pod.
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

// Apply adds an observation about the pod and reports whether the evidence changed. The caller must also pass each
// ClockSet, including the earlier ones (ClockLog.ApplyTo).
func (e *TerminationEvidence) Apply(o Observation) (changed bool) {
	switch o := o.(type) {
	case PodSeen:
		return e.applyPod(o)
	case PodGone:
		return e.keepEarlier(&e.gone, &e.goneLive, o.ArrivedAt, o.Live)
	case RuntimeSeen:
		return e.applyRuntime(o)
	case EventSeen:
		return e.applyEvent(o)
	case ClockSet:
		return e.clock.Observe(o)
	}
	return false
}

// keepEarlier stores an arrival if no arrival is stored yet, or if the stored arrival is later. keepEarlier reports
// whether it stored the arrival.
func (e *TerminationEvidence) keepEarlier(kept *instant, live *bool, arrived time.Time, now bool) bool {
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
		e.grace, e.longest, e.shortestAt, changed = grace, grace, at(o.ArrivedAt), true
	case grace > 0 && grace != e.grace:
		changed = changed || grace < e.grace || grace > e.longest || !e.shortened
		if grace < e.grace {
			e.shortestAt = at(o.ArrivedAt)
		}
		e.grace, e.longest, e.shortened = min(grace, e.grace), max(grace, e.longest), true
	case grace > 0 && at(o.ArrivedAt) < e.shortestAt:
		e.shortestAt, changed = at(o.ArrivedAt), true
	case grace <= 0:
		var live bool
		changed = e.keepEarlier(&e.releasedAt, &live, o.ArrivedAt, o.Live) || changed || o.Pod.Finalizers &&
			!e.hadFinalizers
		e.hadFinalizers = e.hadFinalizers || o.Pod.Finalizers
	}
	if o.Pod.DeletionObserved {
		changed = e.keepEarlier(&e.observedAt, &e.observedLive, o.ArrivedAt, o.Live) || changed
	}
	for _, c := range o.Pod.Containers {
		if c.Kind != KindImageVolume {
			changed = e.applyStatus(c, o, latest) || changed
		}
	}
	return changed
}

// stopOf finds or adds the evidence of a container. The method returns nil if there are too many containers.
func (e *TerminationEvidence) stopOf(name string) *stopEvidence {
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

// acceptsRun reports whether s can store facts about the given run of the container. The result is false if s already
// has facts about a later run, or if s is nil. If the given run is later than the known run, acceptsRun clears all
// facts about the known run except the times of the Killing Events.
func (s *stopEvidence) acceptsRun(attempt int) bool {
	switch {
	case s == nil || attempt < s.attempt:
		return false
	case attempt > s.attempt:
		*s = stopEvidence{name: s.name, attempt: attempt, killingAt: s.killingAt, killingLast: s.killingLast}
	}
	return true
}

// applyStatus reads a container's status in a pod object. The argument "latest" is true if no later pod object has
// arrived.
func (e *TerminationEvidence) applyStatus(c Container, o PodSeen, latest bool) bool {
	s := e.stopOf(c.Name)
	if c.statusMissing() || !s.acceptsRun(c.Attempt) {
		return false
	}
	before := *s
	if latest {
		s.notStarted = c.State == StateUnknown || c.State == StateWaiting && c.LastRun == nil
		s.waitsForNext = c.State == StateWaiting && c.LastRun != nil
	}
	if c.State == StateTerminated && e.keepEarlier(&s.statusAt, &s.statusLive, o.ArrivedAt, o.Live) {
		s.statusCode, s.statusReason = c.ExitCode, c.EndReason
		if !c.FinishedAt.IsZero() {
			s.statusSecond = at(c.FinishedAt)
		}
	}
	return *s != before
}

// statusMissing reports whether a container's status is only a substitute. When a pod ends, the kubelet might not find
// a container, for example because the container never started. The kubelet then creates a substitute status (kubelet:
// status/status_manager.go, TerminatePod; kubelet_pods.go, convertToAPIContainerStatuses). The exit code 137 in a
// substitute status does not come from a real process. If the container had run, the restart count in the substitute
// status is too high by one.
func (c Container) statusMissing() bool {
	return c.State == StateTerminated && c.EndReason == "ContainerStatusUnknown" && c.FinishedAt.IsZero()
}

func (e *TerminationEvidence) applyRuntime(o RuntimeSeen) (changed bool) {
	queried := at(o.QueriedAt)
	ready := slices.ContainsFunc(o.Sandboxes, func(s Sandbox) bool { return s.Ready })
	switch {
	case ready && queried > e.sandboxReady:
		e.sandboxReady, changed = queried, true
		if e.sandboxDown != 0 && e.sandboxDown <= queried { // the kubelet created a new sandbox after sandboxDown
			e.sandboxDown = 0
		}
	case !ready && at(o.ArrivedAt) > e.sandboxReady && (e.sandboxDown == 0 || at(o.ArrivedAt) < e.sandboxDown):
		e.sandboxDown, changed = at(o.ArrivedAt), true
	}
	if !e.networkLast && slices.ContainsFunc(o.Sandboxes, func(s Sandbox) bool {
		return !s.Unstamped || !s.BegunAt.IsZero()
	}) {
		e.networkLast, changed = true, true
	}
	for _, run := range o.Containers {
		if !e.pod.has(run.Name) {
			continue
		}
		s := e.stopOf(run.Name)
		if !s.acceptsRun(run.Attempt) {
			continue
		}
		before := *s
		switch {
		case !run.FinishedAt.IsZero():
			s.finished, s.code, s.reason = at(run.FinishedAt), run.ExitCode, run.Reason
		case !run.StartedAt.IsZero():
			s.seenRunning = max(s.seenRunning, queried)
		}
		changed = changed || *s != before
	}
	return changed
}

// applyEvent reads a Killing Event, which shows when the kubelet began to stop a container. The kubelet creates the
// Killing Event immediately before it runs the pre-stop hook and asks the runtime to stop the container (kubelet:
// kuberuntime/kuberuntime_container.go, killContainer). A Killing Event from before the deletion request belongs to an
// earlier stop of the container. If the kubelet tries to stop the container again, it increases the count of the same
// Killing Event. After a restart, the kubelet can create a new Killing Event instead.
func (e *TerminationEvidence) applyEvent(o EventSeen) bool {
	if o.Reason != "Killing" || o.NamedAt.IsZero() || o.NamedAt.Before(e.requestSecond.time()) ||
		!e.pod.has(o.Container) {
		return false
	}
	s := e.stopOf(o.Container)
	if s == nil {
		return false
	}
	before := *s
	named := at(o.NamedAt)
	if s.killingAt == 0 || named < s.killingAt {
		s.killingAt = named
	}
	s.killingLast = max(s.killingLast, named)
	if o.Count > 1 && !o.LastAt.IsZero() {
		s.killingLast = max(s.killingLast, at(o.LastAt))
	}
	return *s != before
}

// Pod returns the latest pod object.
func (e *TerminationEvidence) Pod() Pod { return e.pod }

// Over reports whether the object is gone. After the object is gone, no more observations follow.
func (e *TerminationEvidence) Over() bool { return e.gone != 0 }
