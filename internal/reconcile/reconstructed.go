package reconcile

import "sync/atomic"

// Reconstructed counts completed start-ups that were reconstructed afterwards, each once.
type Reconstructed struct {
	Over     uint64 // over before the agent started (timeline.Timeline.Reconstructed)
	Restored uint64 // passed to Settled, and continued from a previous agent
	Late     uint64 // passed to Settled, not restored, and first seen in a list
}

// reconstructed holds the counts for Reconstructed.
type reconstructed struct{ over, restored, late atomic.Uint64 }

// Reconstructed returns the counts so far. It may be called from any goroutine.
func (r *Reconciler) Reconstructed() Reconstructed {
	c := &r.reconstructed
	return Reconstructed{Over: c.over.Load(), Restored: c.restored.Load(), Late: c.late.Load()}
}

// count counts a settled pod. It skips what a previous agent reported, because that agent counted
// it.
func (c *reconstructed) count(p *pod) {
	switch {
	case p.reported:
	case p.settled.Reconstructed:
		c.over.Add(1)
	case p.restored:
		c.restored.Add(1)
	case p.late:
		c.late.Add(1)
	}
}
