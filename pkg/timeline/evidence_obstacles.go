package timeline

import (
	"cmp"
	"slices"
	"strings"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

// obstacleEvent is one kubelet Event about an obstacle: a problem that prevented the creation of the pod's sandbox. The
// fields "first" and "last" are the Event's first and latest occurrence.
type obstacleEvent struct {
	obstacle    obstacle
	first, last window
	count       int // the number of occurrences so far
	// fromRuntime is true if the latest occurrence comes from the runtime's response about its network. fromRuntime is
	// false if the latest occurrence comes from an Event.
	fromRuntime bool
}

func (h obstacleEvent) row() *obstacleRow { return &obstacleTable[h.obstacle] }

// latestRetry returns the latest possible time of the kubelet's next attempt after the Event's latest occurrence. If
// this time is unknown, the result is maxInstant.
func (h obstacleEvent) latestRetry() instant {
	if h.row().retry == nil {
		return maxInstant
	}
	wait := h.row().retry(h.count)
	if h.fromRuntime {
		wait += networkPoll
	}
	return h.last.latest + instant(wait)
}

func (h obstacleEvent) compare(o obstacleEvent) int {
	return cmp.Or(h.first.compare(o.first), cmp.Compare(h.obstacle, o.obstacle))
}

// applyObstacle keeps the first and the latest occurrence of an Event that names an obstacle. If there are more than
// maxFailures Events about obstacles, applyObstacle keeps the earliest Events.
func (e *Evidence) applyObstacle(o EventSeen) {
	named, ok := obstacleOf(o.Reason, strings.TrimPrefix(o.Message, imagepull.CombinedPrefix))
	if !ok || o.Container != "" {
		return
	}
	h := obstacleEvent{obstacle: named, first: firstOccurrence(o), last: latestOccurrence(o), count: o.Count}
	if strings.HasPrefix(o.Message, imagepull.CombinedPrefix) {
		// The text of a combined Event describes only the occurrence at the latest timestamp.
		h.first, h.count = h.last, 1
	}
	i, found := slices.BinarySearchFunc(e.obstacleEvents, h, obstacleEvent.compare)
	switch {
	case found:
		known := &e.obstacleEvents[i]
		if later := cmp.Or(cmp.Compare(h.count, known.count), known.last.compare(h.last)); later > 0 {
			*known, e.changed = h, true
		}
	case i < maxFailures:
		longer := slices.Insert(e.obstacleEvents, i, h)
		e.obstacleEvents, e.changed = longer[:min(len(longer), maxFailures)], true
	}
}

// obstacleEventsWithRuntime returns the Events about obstacles, and also uses the runtime's responses about its
// network. After the kubelet's Event about a network that is not ready, the runtime can report the same problem again.
// Then the obstacle lasts at least until the runtime's last report of this problem. While the network is not ready, the
// kubelet does not start the pod.
func (e *Evidence) obstacleEventsWithRuntime() []obstacleEvent {
	latest := -1
	for i, h := range e.obstacleEvents {
		if h.obstacle == obstacleNetworkNotReady &&
			(latest < 0 || h.last.latest > e.obstacleEvents[latest].last.latest) {
			latest = i
		}
	}
	if latest < 0 {
		return e.obstacleEvents
	}
	extended := slices.Clone(e.obstacleEvents)
	if down := e.networkDownUntil(); down > extended[latest].last.latest {
		h := &extended[latest]
		h.last = window{origin: originRuntime, earliest: down, latest: down}
		h.count, h.fromRuntime = max(2, h.count), true
	}
	// Without a network, the kubelet does not watch the pod's ConfigMaps and Secrets yet. obstacleNotRegistered is only
	// a consequence of the missing network, and not a separate obstacle.
	return slices.DeleteFunc(extended, func(h obstacleEvent) bool { return h.obstacle == obstacleNotRegistered })
}

// networkDownUntil returns the last time at which the runtime reported that its network was not ready. networkDownUntil
// ignores all reports that came after the runtime's first report of a ready network. If no report remains, the result
// is zero.
func (e *Evidence) networkDownUntil() (until instant) {
	for _, down := range e.networkDowns {
		if e.networkUp == 0 || down < e.networkUp {
			until = max(until, down)
		}
	}
	return until
}

// manyOccurrences limits the loop in isContinuous. Before the agent gives up on a start-up, an Event has fewer than
// manyOccurrences occurrences.
const manyOccurrences = 4096

// isContinuous reports whether the kubelet retried without a gap from the first to the latest occurrence. There was a
// gap if the time between these two occurrences is longer than the sum of the longest waits between h.count attempts.
func (h obstacleEvent) isContinuous() bool {
	retry := h.row().retry
	if retry == nil || h.fromRuntime {
		return true
	}
	gap, most := h.last.earliest-h.first.latest, instant(0)
	for n := 1; n < h.count && most < gap; n++ {
		if n == manyOccurrences {
			return true
		}
		most += instant(retry(n) + retrySlack)
	}
	return most >= gap
}

// obstacleOccurrence is one occurrence of an Event that names an obstacle.
type obstacleOccurrence struct {
	window
	key  milestoneKey
	from *obstacleEvent
}

// obstacleOccurrences returns the first and the latest occurrence of each Event about an obstacle, in order of time. If
// an occurrence is later than the beginning of the first sandbox, obstacleOccurrences leaves it out. Such an occurrence
// concerns a later mount of a volume, or another sandbox.
func (f *fold) obstacleOccurrences() []obstacleOccurrence {
	f.obstacleEvents = f.e.obstacleEventsWithRuntime()
	begun := f.sandboxBegunBy()
	var all []obstacleOccurrence
	add := func(w window, h *obstacleEvent) {
		if w.earliest > begun {
			f.laterObstacles = append(f.laterObstacles, h.row().phases...)
			if h.row().sandboxFailed {
				f.laterFailures = append(f.laterFailures, obstacleOccurrence{window: w, from: h})
			}
			return
		}
		all = append(all, obstacleOccurrence{window: w, from: h})
	}
	for i := range f.obstacleEvents {
		h := &f.obstacleEvents[i]
		add(h.first, h)
		if h.count > 1 {
			add(h.last, h)
		}
	}
	slices.SortStableFunc(all, func(a, b obstacleOccurrence) int { return a.window.compare(b.window) })
	var failed, held uint16
	for i := range all {
		if all[i].from.row().sandboxFailed {
			all[i].key, failed = milestoneKey{podWide, failed, MilestoneSandboxFailed}, failed+1
		} else {
			all[i].key, held = milestoneKey{podWide, held, MilestoneHeldUp}, held+1
		}
	}
	return all
}

// sandboxBegunBy returns the latest possible time at which the first sandbox began. If no evidence shows a sandbox, the
// result is maxInstant. The kubelet checks images only after it has created a sandbox (SyncPod in
// pkg/kubelet/kuberuntime). So the first check of an image proves that a sandbox ran, even if the runtime has not
// reported a sandbox yet.
func (f *fold) sandboxBegunBy() instant {
	begun, _ := f.e.latestTime(podMilestone(MilestoneSandboxBegun))
	ran, _ := f.e.latestTime(podMilestone(MilestoneSandboxRunning))
	by := min(begun, ran)
	for i := range f.pulls {
		by = min(by, f.imageCheckedBy(int16(i)))
	}
	return by
}

// retryMilestone returns the milestone key of the kubelet's next attempt after an obstacle.
func retryMilestone(obstacle int) milestoneKey {
	return milestoneKey{podWide, uint16(obstacle), MilestoneRetryDue}
}

// dueBy returns the latest possible time of one of the kubelet's attempts after the occurrence o. If the kubelet
// retried without a gap until the Event's latest occurrence, dueBy chooses the next attempt after that occurrence. If
// there was a gap, dueBy chooses the first attempt after o. If the time is unknown, dueBy returns maxInstant.
func (o obstacleOccurrence) dueBy() instant {
	switch retry := o.from.row().retry; {
	case retry == nil:
		return maxInstant
	case o.latest == o.from.last.latest || o.from.isContinuous():
		return o.from.latestRetry()
	default:
		return o.latest + instant(retry(1))
	}
}

// obstacleConstraints returns the times of the obstacles, and the times of the kubelet's next attempts after the
// obstacles.
func (f *fold) obstacleConstraints() []constraint {
	var constraints []constraint
	for _, o := range f.obstacles {
		constraints = append(constraints, o.constraint(o.key))
	}
	if len(f.obstacles) == 0 {
		return nil
	}
	next := f.sandboxBegunSince()
	for i := len(f.obstacles) - 1; i >= 0; i-- {
		o := f.obstacles[i]
		if by := o.dueBy(); by != maxInstant && by+instant(retrySlack) < next {
			w := o.window
			w.earliest += by - w.latest
			w.latest = by
			if o.from.row().sandboxFailed {
				w.bias, w.earliest = biasNone, o.earliest+instant(podRetryLeast)
			}
			constraints = append(constraints, w.constraint(retryMilestone(i)))
		}
		next = o.earliest
	}
	return constraints
}

// sandboxBegunSince returns the earliest possible time at which the sandbox began. If no timestamp shows when the
// sandbox began, the result is the time of the first sign of the sandbox. If there is no sign of a sandbox or of work
// on a container, the result is f.asOf, the time until which the fold computes the timeline.
func (f *fold) sandboxBegunSince() instant {
	pulled := slices.ContainsFunc(f.e.containers, func(c containerEvidence) bool {
		return c.pulled.known() || len(c.failures) > 0 || c.statusFailure != nil
	})
	if !f.e.sandboxRan() && !pulled {
		if _, known := f.e.latestTime(podMilestone(MilestoneSandboxBegun)); !known {
			return f.asOf
		}
	}
	if since := f.e.earliestTime(podMilestone(MilestoneSandboxBegun)); since != minInstant {
		return since
	}
	return f.firstSignOfSandbox()
}

// firstSignOfSandbox returns the earliest time at which the evidence shows that a sandbox exists. Only containerd's
// store contains the time at which a sandbox began.
func (f *fold) firstSignOfSandbox() instant {
	first := f.asOf
	for _, c := range f.e.constraints {
		switch {
		case c.key.container != podWide, c.key.milestone == MilestoneSandboxBegun,
			c.key.milestone == MilestoneNetworkReady,
			c.key.milestone == MilestoneSandboxRunning:
			first = min(first, c.latest)
		}
	}
	return first
}

// retryDue returns the latest time at which the kubelet retries after the last known obstacle. If this time is unknown,
// retryDue returns maxInstant. If another obstacle stops this retry, the kubelet requests the sandbox later.
func (f *fold) retryDue() instant {
	if len(f.obstacles) == 0 {
		return maxInstant
	}
	until := f.obstacles[len(f.obstacles)-1].from.latestRetry()
	if until == maxInstant {
		return until
	}
	return until + instant(retrySlack)
}
