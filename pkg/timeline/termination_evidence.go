package timeline

import (
	"slices"
	"time"
)

// maxGrace is the longest grace period that anything is made of.
const maxGrace = 365 * 24 * time.Hour

// maxStops bounds the containers whose end is followed; those beyond are left out, which Missing tells.
const maxStops = 64

// Ending is all that is known about one pod's end. It begins with the first pod object that says that deletion was asked
// for. Observations may be repeated; pod objects and Events may come in any order, answers of the runtime come in that in which
// it gave them. Not safe for concurrent use.
type Ending struct {
	pod     Pod     // as last seen
	podAt   instant // when that came
	created instant

	requestSecond instant       // floored second, of the control plane's clock
	learnedAt     instant       // when the first pod object came that says so
	learnedLive   bool          // of heard
	observedAt    instant       // when the first came that says that the kubelet knows; zero for never
	observedLive  bool          // that came live
	releasedAt    instant       // when the first came without grace: of a pod that had some, the kubelet let go; zero for never
	hadFinalizers bool          // that had finalizers
	grace         time.Duration // the shortest that is not 0; 0 for none
	shortened     bool          // a longer one was seen, too: what was out of time when is not known
	stops         []stopEvidence
	overflow      bool

	sandboxReady instant // asked the runtime at the latest, and one was ready; zero for never
	sandboxDown  instant // first answer without one that is ready after that; zero for never

	gone     instant // zero while the object is there
	goneLive bool
}

// stopEvidence is what is known of the end of one container: of its latest run.
type stopEvidence struct {
	name        string
	attempt     int
	seenRunning instant // asked the runtime at the latest, and it ran; zero for never
	killingAt   instant // the kubelet's Event Killing, by its name; zero for none

	finished instant // the runtime's stamp; zero for none
	code     int
	reason   string

	statusSecond instant // the kubelet's floored stamp; zero for none
	statusAt     instant // when the pod object first said that it had ended; zero for never
	statusLive   bool
	statusCode   int
	statusReason string
	notStarted   bool // the pod object, as last seen, has no run of it
	waitsForNext bool // the latest run is over, and the kubelet waits before the next
}

// NewEnding begins with an observation; it is nil unless that is a pod object that somebody asked to delete. That of a static pod is a
// mirror, whose end is not the pod's.
func NewEnding(o Observation) *Ending {
	seen, ok := o.(PodSeen)
	if !ok || seen.Pod.DeletedAt.IsZero() || !seen.Pod.ReadAt.IsZero() {
		return nil
	}
	e := &Ending{created: at(seen.Pod.CreatedAt), requestSecond: at(seen.Pod.DeletedAt), learnedAt: at(seen.ArrivedAt), learnedLive: seen.Live}
	e.Apply(o)
	return e
}

// Apply adds what an observation about the pod tells; it returns whether that was news.
func (e *Ending) Apply(o Observation) (changed bool) {
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
func (e *Ending) first(kept *instant, live *bool, arrived time.Time, now bool) bool {
	if *kept != 0 && *kept <= at(arrived) {
		return false
	}
	*kept, *live = at(arrived), now
	return true
}

func (e *Ending) applyPod(o PodSeen) (changed bool) {
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

// stop finds or adds a container's evidence; nil when there are too many.
func (e *Ending) stop(name string) *stopEvidence {
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

// accepts is the evidence if it is to take something about a run; a later run forgets what was known of one before.
func (s *stopEvidence) accepts(attempt int) bool {
	switch {
	case s == nil || attempt < s.attempt:
		return false
	case attempt > s.attempt:
		*s = stopEvidence{name: s.name, attempt: attempt, killingAt: s.killingAt}
	}
	return true
}

// applyStatus takes what a pod object, the latest so far or not, says of a container.
func (e *Ending) applyStatus(c Container, o PodSeen, latest bool) bool {
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

// statusMissing says that the kubelet had no status of the container and made one up, with an exit code of 137 that no process had, and one restart more if it
// had run: so it does with each container that it does not find when a pod ends, such as those that had never started
// (kubelet: status/status_manager.go, TerminatePod; kubelet_pods.go, convertToAPIContainerStatuses).
func (c Container) statusMissing() bool {
	return c.State == StateTerminated && c.EndReason == "ContainerStatusUnknown" && c.FinishedAt.IsZero()
}

func (e *Ending) applyRuntime(o RuntimeSeen) (changed bool) {
	asked := at(o.AskedAt)
	ready := slices.ContainsFunc(o.Sandboxes, func(s Sandbox) bool { return s.Ready })
	switch {
	case ready && asked > e.sandboxReady:
		e.sandboxReady, changed = asked, true
		if e.sandboxDown != 0 && e.sandboxDown <= asked { // the kubelet made another
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

// applyEvent takes from Killing when the kubelet began to stop a container: the Event is made just before the hook runs and the runtime is
// asked (kubelet: kuberuntime/kuberuntime_container.go, killContainer). One from before the deletion is of another end.
func (e *Ending) applyEvent(o EventSeen) bool {
	if o.Reason != "Killing" || o.NamedAt.IsZero() || o.NamedAt.Before(e.requestSecond.time()) || !e.pod.has(o.Container) {
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
func (e *Ending) Pod() Pod { return e.pod }

// Over says that the object is gone: nothing more will be told.
func (e *Ending) Over() bool { return e.gone != 0 }
