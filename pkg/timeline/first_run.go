package timeline

import (
	"slices"
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

// firstRun is the first status that shows a run of a container.
type firstRun struct {
	arrivedAt instant // zero if no status showed a run
	late      bool    // a list delivered the status, or the status was late; see Pod.isLate and isFirstSeenLate
}

// add adds a status of the container and reports whether firstRun changed. If two statuses arrived at the same time,
// the late status counts.
func (r *firstRun) add(o *PodSeen, c *Container) (changed bool) {
	then := at(o.ArrivedAt)
	if c.statusRuns() == 0 || r.arrivedAt != 0 && then > r.arrivedAt {
		return false
	}
	next := firstRun{then, !o.Live || o.Pod.isLate(o.ArrivedAt) || c.isFirstSeenLate(o.ArrivedAt)}
	if then == r.arrivedAt && (r.late || !next.late) {
		return false
	}
	*r = next
	return true
}

// isLate reports whether the pod's status arrived long after the latest change that it shows. Then the kubelet or the
// agent might have had no connection to the API server. When the connection returns, the kubelet writes only its latest
// status (status_manager.go), so the agent can have missed earlier statuses. While a post-start hook runs, the kubelet
// does not write the status. So if the container that started last has a hook, the status is never late.
func (p *Pod) isLate(arrived time.Time) bool {
	var changed, started time.Time
	hook := false
	for i := range p.Containers { // in the order in which the kubelet starts the containers
		c := &p.Containers[i]
		if !c.StartedAt.Before(started) {
			started, hook = c.StartedAt, c.State == StateRunning && c.PostStartHook
		}
		changed = slices.MaxFunc([]time.Time{changed, c.StartedAt, c.FinishedAt}, time.Time.Compare)
		if c.LastRun != nil {
			changed = slices.MaxFunc([]time.Time{changed, c.LastRun.FinishedAt}, time.Time.Compare)
		}
	}
	return !hook && arrived.Sub(changed) > time.Second+statusPatience // the times in a status are truncated to seconds
}

// isFirstSeenLate reports whether the first status with a run of an init container or sidecar arrived long after this
// container had started. The kubelet starts each of these containers in a separate sync, and each sync begins with a
// status. So the agent missed a status. This does not apply to main containers, because the kubelet starts all of them
// in one sync. It also does not apply to a sidecar with a post-start hook, because the hook delays the next sync.
func (c *Container) isFirstSeenLate(arrived time.Time) bool {
	started := c.StartedAt
	if c.LastRun != nil {
		started = c.LastRun.StartedAt
	}
	return (c.Kind == KindInit || c.Kind == KindSidecar) && !c.PostStartHook && !started.IsZero() &&
		arrived.Sub(started) > time.Second+statusPatience // started is truncated to seconds
}

// mayHideFailure reports whether an attempt can have failed after the time "since", although no status reports the
// failure. At this time, the image's manifest or the image itself arrived. The kubelet tries again only after a
// back-off, and uses the image after this back-off. But if the kubelet restarts, it forgets the back-off, and cancels
// the pull without a report.
func (f *fold) mayHideFailure(index int16, since, pulled time.Time) bool {
	used := f.e.usedBy(index)
	if used == maxInstant {
		used = at(pulled)
	}
	return used.sub(at(since)) >= imagepull.Backoff(1) && (f.e.containers[index].firstRun.late ||
		f.lacksPulledEvent(index, at(pulled)) || f.e.lacksStatuses(at(pulled)))
}

// lacksStatuses reports whether the agent received no status of the kubelet before the given end of a pull. The kubelet
// writes the first status before it pulls an image, so the agent can also have missed the status of a failed pull.
func (e *Evidence) lacksStatuses(ended instant) bool {
	first, known := e.arrivalOf(podMilestone(MilestoneAcknowledged))
	return known && first > ended
}

// lacksPulledEvent reports whether an Event about a pull that ended at the given instant is missing for an unknown
// reason. Then the agent can have missed a status too: while the API server rejects requests, the kubelet's client
// drops Events (client-go, tools/record, recordEvent), and the kubelet skips outdated statuses (status_manager.go). So
// the status after such a time can arrive without delay. The reason for a missing Event is known if the agent does not
// watch Events, if the latest Event watch began after the pull, if the agent's limits delayed the watch, or if the
// kubelet's client reached its limit.
func (f *fold) lacksPulledEvent(index int16, ended instant) bool {
	e := f.e
	return e.scope.Events && !f.pulls[index].pulled.known() && e.eventsMissedUntil() <= ended &&
		!e.watchesLimited() && !e.eventLimitReached()
}
