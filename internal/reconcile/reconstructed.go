package reconcile

import "sync/atomic"

// Reconstructed counts the start-ups that ended and that were pieced together after the fact, each once.
type Reconstructed struct {
	Over     uint64 // over before the agent's time (timeline.Timeline.Reconstructed)
	Restored uint64 // of those handed to Settled: went on where an agent before this one ended
	Late     uint64 // of those handed to Settled and not restored: a list told of the pod first
}

// reconstructed is what Reconstructed is read from.
type reconstructed struct{ over, restored, late atomic.Uint64 }

// Reconstructed is what was counted so far. It may be called from any goroutine.
func (r *Reconciler) Reconstructed() Reconstructed {
	c := &r.reconstructed
	return Reconstructed{Over: c.over.Load(), Restored: c.restored.Load(), Late: c.late.Load()}
}

// count takes a pod that is settled. What an agent before this one reported, it has counted.
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
