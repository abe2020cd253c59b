package timeline

import "time"

// statusGaps shows when the agent can have missed statuses of a container before its first run. A watch delivers every
// status. A list delivers only the latest status.
type statusGaps struct {
	listedAt  instant // the arrival of the latest status from a list that shows no run of the container, or zero
	ranAt     instant // the arrival of the first status that shows a run of the container, or zero
	ranListed bool    // a list delivered the first status that shows a run of the container
}

// add adds a status and reports whether the gaps changed. If a list and a watch delivered statuses at the same time,
// the list counts.
func (g *statusGaps) add(c *Container, arrived time.Time, live bool) (changed bool) {
	then := at(arrived)
	switch ran := c.statusRuns() > 0; {
	case !ran && !live && then > g.listedAt:
		g.listedAt = then
	case ran && (g.ranAt == 0 || then < g.ranAt || then == g.ranAt && !live && !g.ranListed):
		g.ranAt, g.ranListed = then, !live
	default:
		return false
	}
	return true
}

// mayHide reports whether the agent can have missed statuses of the container after an instant and before its first
// run.
func (g *statusGaps) mayHide(since instant) bool {
	return g.listedAt > since || g.ranListed && g.ranAt > since
}
