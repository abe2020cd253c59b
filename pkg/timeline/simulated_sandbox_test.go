package timeline

import "time"

// recorded reports whether the runtime is containerd 1.6.15 or later, but not containerd 2. Its container store shows
// the beginning of a sandbox and the end of the network setup.
func (p *simulatedPod) recorded() bool { return !p.stamped && p.wording%4 == 0 }

func (w *simulatedSources) sandboxesAt(t time.Time) []Sandbox {
	running := w.upTo(trueMilestone{milestone: MilestoneSandboxRunning}, t)
	if running.IsZero() {
		return nil
	}
	if w.losesSandbox {
		return w.lostSandboxesAt(t)
	}
	network := w.milestones[trueMilestone{milestone: MilestoneNetworkReady}]
	if !w.stamped || w.loss.storeless {
		created := network // CRI-O sets created_at after the network setup, containerd 1.x before it
		if w.wording%2 == 0 {
			begun := w.milestones[trueMilestone{milestone: MilestoneSandboxBegun}]
			prepared := time.Millisecond + time.Duration(w.wording)*10*time.Millisecond
			created = begun.Add(min(prepared, network.Sub(begun)/2))
		}
		if w.recorded() && !w.loss.storeless {
			return []Sandbox{{Ready: true, BegunAt: created, NetworkReadyAt: network, Unstamped: true, ImageFirst: true,
				ImageStoredAt: created.Add(-24 * time.Hour)}}
		}
		return []Sandbox{{Ready: true, CreatedAt: created, Unstamped: true}}
	}
	return []Sandbox{
		{Ready: true, BegunAt: w.milestones[trueMilestone{milestone: MilestoneSandboxBegun}], NetworkReadyAt: network,
			RunningAt: running, ImageKnown: true},
	}
}
