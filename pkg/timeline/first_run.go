package timeline

import "time"

// firstRun is the first status that shows a run of a container.
type firstRun struct {
	arrivedAt instant // zero if no status showed a run
	// late is true if the status arrived long after the run that it shows. Then the kubelet or the agent had no
	// connection to the API server, or one of them was busy. The kubelet writes only its latest status
	// (status_manager.go), and a list delivers only the latest status. So the agent can have missed earlier statuses.
	late bool
}

// add adds a status of the container and reports whether firstRun changed. If two statuses arrived at the same time,
// the late status counts.
func (r *firstRun) add(c *Container, arrived time.Time) (changed bool) {
	next := firstRun{at(arrived), c.isLate(arrived)}
	if c.statusRuns() == 0 || r.arrivedAt != 0 && (next.arrivedAt > r.arrivedAt ||
		next.arrivedAt == r.arrivedAt && (r.late || !next.late)) {
		return false
	}
	*r = next
	return true
}

// isLate reports whether a status arrived long after the latest run that it shows. The kubelet reports a container with
// a post-start hook only after the hook has ended, so the status of a running container with a hook is never late.
func (c *Container) isLate(arrived time.Time) bool {
	changed := c.StartedAt
	switch {
	case c.State == StateRunning && c.PostStartHook:
		return false
	case c.State == StateTerminated:
		changed = c.FinishedAt
	case c.LastRun != nil && c.State == StateWaiting:
		changed = c.LastRun.FinishedAt
	}
	return changed.IsZero() || arrived.Sub(changed) > time.Second+statusPatience // changed is truncated to seconds
}
