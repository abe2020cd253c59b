package timeline

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// simulatedSources turns a simulated pod into the observations of sources. Each observation is true, but can be
// incomplete: timestamps are truncated, runs are reported late, and some observations are lost.
type simulatedSources struct {
	*simulatedPod
	random *rand.Rand // independent of the pod's random numbers, so that sources can observe the same pod in many ways
	loss   loss
}

// loss describes the observations that the sources miss. The zero value means no loss.
type loss struct {
	events    float64 // the share of Events that never arrive
	statuses  float64 // the share of pod objects that never arrive, except the last
	responses float64 // the share of the runtime's responses that never arrive
	blind     bool    // the pod watch is lost for some time and then lists the pods
	late      bool    // the Event watch opens late and reports this
	revision  bool    // the Event watch begins shortly before or after the pod's arrival, and reports this
	shuffled  bool    // observations arrive in any order, some of them twice
	forgets   bool    // the runtime keeps only two runs of each container
	storeless bool    // the runtime has no stores, such as CRI-O
	lateAgent bool    // the agent starts during the start-up and lists the pods
	limited   bool    // the kubelet's client drops Events after spamLimit Events
}

// observe returns all observations in the order of their arrival, or in a random order if loss.shuffled is true.
func (w *simulatedSources) observe(a Scope) []Observation {
	pods := w.podObjects()
	var all []Observation
	for _, o := range pods {
		all = append(all, o)
	}
	if a.Runtime {
		all = append(all, w.runtimeResponses(pods)...)
	}
	if a.Events {
		all = append(all, w.eventObservations(pods[0].ArrivedAt)...)
	}
	slices.SortStableFunc(all, func(a, b Observation) int { return a.Arrived().Compare(b.Arrived()) })
	if w.loss.shuffled {
		for range len(all) / 4 {
			all = append(all, all[w.random.IntN(len(all))])
		}
		w.random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	}
	return all
}

// podObjects returns one pod object for each change. The objects report starts and exits up to a second late.
func (w *simulatedSources) podObjects() []PodSeen {
	var changes []time.Time
	for _, k := range w.inOrder() {
		t := w.milestones[k]
		switch k.milestone {
		case MilestoneCreated:
			if w.nodeSet {
				changes = append(changes, t)
			}
		case MilestoneScheduled,
			MilestoneAcknowledged,
			MilestoneStarted,
			MilestoneContainerReady,
			MilestoneContainersReady,
			MilestoneReady:
			changes = append(changes, t)
		case MilestonePullFailed:
			changes = append(changes, t.Add(w.between(time.Millisecond, 100*time.Millisecond)))
		case MilestoneRunning, MilestoneFinished:
			if detected, slow := w.detectedAt[k]; slow {
				changes = append(changes, detected)
				continue
			}
			if k.milestone == MilestoneRunning {
				t = t.Add(w.hookOf(k))
			}
			changes = append(changes, t.Add(w.between(5*time.Millisecond, time.Second)))
		}
	}
	for _, lost := range w.losses {
		changes = append(changes, lost.from, lost.to)
	}
	ready := w.milestones[trueMilestone{milestone: MilestoneReady}]
	for i, t := range changes {
		if !t.Before(w.downAt) && t.Before(w.upAt) {
			changes[i] = w.upAt.Add(anyPart(t, time.Second))
		}
	}
	changes = slices.DeleteFunc(changes, func(t time.Time) bool { return t.After(ready) })
	slices.SortFunc(changes, time.Time.Compare)
	blindFrom, blindTo := time.Time{}, time.Time{}
	switch {
	case w.loss.lateAgent:
		blindTo = changes[0].Add(time.Duration(w.random.Int64N(int64(ready.Sub(changes[0])))))
	case w.loss.blind:
		span := ready.Sub(changes[0])
		blindFrom = changes[0].Add(time.Duration(w.random.Int64N(int64(span))) - span/4)
		blindTo = blindFrom.Add(time.Duration(w.random.Int64N(int64(span))))
	}
	var pods []PodSeen
	var last time.Time
	listed := blindTo.IsZero()
	for i, t := range changes {
		arrived := t.Add(w.between(time.Millisecond, 30*time.Millisecond))
		if !arrived.After(last) {
			arrived = last.Add(time.Nanosecond)
		}
		if !listed && arrived.After(blindTo) {
			listed = true
			if at := blindTo.Add(-time.Millisecond); !at.Before(changes[0]) {
				pods = append(pods, PodSeen{ArrivedAt: blindTo, Pod: w.podAt(at)})
			}
		}
		if arrived.After(blindFrom) && arrived.Before(blindTo) ||
			i < len(changes)-1 && w.random.Float64() < w.loss.statuses {
			continue
		}
		pods = append(pods, PodSeen{ArrivedAt: arrived, Live: true, Pod: w.podAt(t)})
		last = arrived
	}
	if !listed {
		pods = append(pods, PodSeen{ArrivedAt: blindTo.Add(time.Second), Pod: w.podAt(blindTo)})
	}
	return pods
}

// podAt returns the pod object that the kubelet would write at the time t.
func (w *simulatedSources) podAt(t time.Time) Pod {
	p := w.pod
	p.Containers = nil
	when := func(m Milestone) time.Time { return w.upTo(trueMilestone{milestone: m}, t).Truncate(time.Second) }
	acknowledged := when(MilestoneAcknowledged)
	p.AcknowledgedAt = acknowledged
	scheduled := when(MilestoneScheduled)
	if w.nodeSet { // the kubelet writes the condition PodScheduled with its first status
		scheduled, p.ScheduledByKubelet = acknowledged, !acknowledged.IsZero()
	}
	for kind, at := range map[string]time.Time{"PodScheduled": scheduled,
		"ContainersReady": when(MilestoneContainersReady), "Ready": when(MilestoneReady)} {
		switch {
		case !at.IsZero():
			p.Conditions = append(p.Conditions, Condition{kind, true, at})
		case !acknowledged.IsZero():
			p.Conditions = append(p.Conditions, Condition{kind, false, acknowledged})
		}
	}
	w.loseContainersReady(p.Conditions, t)
	slices.SortFunc(p.Conditions, func(a, b Condition) int { return cmp.Compare(a.Type, b.Type) })
	for _, c := range w.containers {
		p.Containers = append(p.Containers, w.statusAt(c, t))
	}
	return p
}

// upTo returns the instant of a milestone, or the zero time if the milestone is later than t.
func (w *simulatedSources) upTo(k trueMilestone, t time.Time) time.Time {
	if at := w.milestones[k]; !at.After(t) {
		return at
	}
	return time.Time{}
}

func (w *simulatedSources) statusAt(c *simulatedContainer, t time.Time) Container {
	s := c.Container
	if w.upTo(trueMilestone{milestone: MilestoneAcknowledged}, t).IsZero() {
		return s
	}
	if c.Kind == KindImageVolume {
		return w.volumeAt(c, t)
	}
	run := func(n int) Run {
		finished := trueMilestone{MilestoneFinished, c.Name, n}
		return Run{w.detectedBy(trueMilestone{MilestoneRunning, c.Name, n}, t).Truncate(time.Second),
			w.detectedBy(finished, t).Truncate(time.Second), w.exits[finished], w.reasons[finished]}
	}
	n := c.attempt
	for n > 0 && run(n).StartedAt.IsZero() {
		n--
	}
	now := run(n)
	s.Attempt = n
	switch {
	case now.StartedAt.IsZero() || w.hookRuns(c, n, t):
		s.State = StateWaiting
		if failed := w.upTo(trueMilestone{MilestonePullFailed, c.Name, 0}, t); !failed.IsZero() {
			s.WaitingReason, s.PullFailure = "ImagePullBackOff", "other"
		}
		return s
	case now.FinishedAt.IsZero():
		s.State, s.StartedAt = StateRunning, now.StartedAt
	case w.backedOff[trueMilestone{MilestoneFinished, c.Name, n}]:
		s.State, s.WaitingReason, s.LastRun = StateWaiting, "CrashLoopBackOff", &now
		return s
	default:
		s.State, s.StartedAt, s.FinishedAt, s.ExitCode = StateTerminated, now.StartedAt, now.FinishedAt, now.ExitCode
		s.EndReason = now.Reason
	}
	if n > 0 {
		before := run(n - 1)
		s.LastRun = &before
	}
	if s.State == StateRunning && c.Kind != KindInit {
		s.Started = !w.upTo(trueMilestone{MilestoneStarted, c.Name, n}, t).IsZero()
		s.Ready = !w.upTo(trueMilestone{MilestoneContainerReady, c.Name, n}, t).IsZero() && !w.lostReadiness(c, t)
	}
	return s
}

// runtimeResponses returns the runtime's responses: one response after each pod object, and one after the end.
func (w *simulatedSources) runtimeResponses(pods []PodSeen) []Observation {
	var all []Observation
	ask := func(at time.Time, images bool) {
		o := RuntimeSeen{UID: w.pod.UID, QueriedAt: at, ArrivedAt: at.Add(5 * time.Millisecond)}
		o.Sandboxes = w.sandboxesAt(at)
		o.Containers = w.runsAt(at)
		if images {
			o.Images = w.imagesAt(at)
		}
		all = append(all, o)
	}
	asked := false
	for i, p := range pods {
		if w.random.Float64() < w.loss.responses {
			continue
		}
		ask(p.ArrivedAt.Add(time.Millisecond), !asked || i == len(pods)-1 || w.random.IntN(3) == 0)
		asked = true
	}
	if w.loss.responses == 0 {
		ask(pods[len(pods)-1].ArrivedAt.Add(2*time.Second), true)
	}
	return all
}

func (w *simulatedSources) runsAt(t time.Time) []ContainerRun {
	var runs []ContainerRun
	for _, c := range w.containers {
		var own []ContainerRun
		for n := range c.attempt + 1 {
			r := ContainerRun{
				Name:      c.Name,
				Attempt:   n,
				CreatedAt: w.upTo(trueMilestone{MilestoneContainerCreated, c.Name, n}, t),
				StartedAt: w.upTo(
					trueMilestone{MilestoneRunning, c.Name, n},
					t,
				),
				FinishedAt: w.upTo(trueMilestone{MilestoneFinished, c.Name, n}, t),
			}
			if !r.FinishedAt.IsZero() {
				r.ExitCode = w.exits[trueMilestone{MilestoneFinished, c.Name, n}]
				r.Reason = w.reasons[trueMilestone{MilestoneFinished, c.Name, n}]
			}
			if !r.CreatedAt.IsZero() {
				own = append(own, r)
			}
		}
		if w.loss.forgets && len(own) > 2 {
			own = own[len(own)-2:]
		}
		runs = append(runs, own...)
	}
	return runs
}

// eventObservations returns the Events and the start of the Event watch. A repeated Event has the name of its first
// occurrence.
func (w *simulatedSources) eventObservations(seenAt time.Time) []Observation {
	openedAt := seenAt.Add(time.Millisecond)
	if w.loss.late {
		openedAt = openedAt.Add(w.between(time.Millisecond, 60*time.Second))
	}
	type object struct {
		first time.Time
		count int
	}
	objects := map[string]*object{}
	before := map[string]EventSeen{} // Events that were created before openedAt, in their state at openedAt
	var since time.Time
	if w.loss.revision {
		since = seenAt.Add(w.between(-3*time.Second, 3*time.Second))
	}
	complete := true
	drops := map[occurrence]bool{}
	if w.loss.limited {
		drops = w.droppedEvents()
	}
	var all []Observation
	for _, o := range w.events {
		key := strings.Join([]string{o.container, o.reason, o.message}, "|")
		if !w.upAt.IsZero() && !o.at.Before(w.upAt) {
			key += "|restarted" // a restarted kubelet creates new Events
		}
		if objects[key] == nil {
			objects[key] = &object{first: o.at}
		}
		objects[key].count++
		if drops[o] || o.at.Before(since) {
			continue // the client dropped the Event, or the watch starts at a revision after this Event
		}
		if w.random.Float64() < w.loss.events {
			// The kubelet can send 25 warnings about a pod, so it drops no Event about a failed sandbox. Such an Event
			// can be missing only if the watch is lost.
			complete = complete && o.reason != "FailedCreatePodSandBox"
			continue
		}
		seen := EventSeen{UID: w.pod.UID, ArrivedAt: o.at.Add(w.between(time.Millisecond, 20*time.Millisecond)),
			Live:      true,
			Container: o.container, Reason: o.reason, Message: o.message, NamedAt: objects[key].first,
			FirstAt: objects[key].first.Truncate(time.Second), LastAt: o.at.Truncate(time.Second),
			Count: objects[key].count}
		if seen.ArrivedAt.Before(openedAt) {
			seen.ArrivedAt, seen.Live = openedAt.Add(time.Millisecond), false
			before[key] = seen
			continue
		}
		all = append(all, seen)
	}
	for _, seen := range before {
		all = append(all, seen)
	}
	if complete {
		all = append(all, EventsWatched{UID: w.pod.UID, ArrivedAt: openedAt.Add(2 * time.Millisecond),
			OpenedAt: openedAt, Since: since})
	}
	slices.SortStableFunc(all, func(a, b Observation) int { // the map "before" has a random order
		return cmp.Or(a.Arrived().Compare(b.Arrived()), cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)))
	})
	return all
}

func (w *simulatedSources) between(from, to time.Duration) time.Duration {
	return from + time.Duration(w.random.Int64N(int64(to-from)))
}
