package timeline

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// TestSimulatedRestarts simulates pods while the kubelet restarts: in the pull queue, during a pull, during the run of
// an init container, or during a back-off. The restarted kubelet forgets the back-off, requests a pull again, and
// creates new Events. The timeline must not charge the time without a kubelet to another party, whatever the sources
// lose.
func TestSimulatedRestarts(t *testing.T) {
	for _, s := range slices.Concat(sourceSets, weakSets) {
		if s.name == "no runtime" || s.name == "no Events" {
			// If observations are lost at random, a long back-off or pull can hide a restart (docs/accuracy.md).
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			restarted := uint64(0)
			for seed := *fromSeed; seed < *fromSeed+s.podCount(); seed++ {
				if l := checkRestart(t, s, seed); !l.upAt.IsZero() {
					restarted++
				}
			}
			for _, seed := range rareRestarts {
				checkRestart(t, s, seed)
			}
			if *seeds >= 700 && restarted < s.podCount()/4 {
				t.Errorf("only %d kubelets restarted: the test proves nothing", restarted)
			}
		})
	}
}

// rareRestarts lists further seeds for which a timeline was wrong.
var rareRestarts = []uint64{10006, 10325, 12182, 12367, 61397, 130416, 130597, 131400, 201058, 210533, 211099}

// checkRestart compares the timeline of one simulated pod with the truth.
func checkRestart(t *testing.T, s sourceSet, seed uint64) *simulatedPod {
	l := simulateChanged(rand.New(rand.NewPCG(seed, 16)), withRestart)
	breaches := checkObserved(t, s, seed, l)
	for _, property := range []property{totalHeld, noCauseOvercharge, probeNamed, errorPossible} {
		if breach := breaches[property]; breach != "" {
			t.Fatalf("%s: %s", property, breach)
		}
	}
	return l
}

// withRestart lets the kubelet restart once. Main containers do not fail by themselves.
func withRestart(l *simulatedPod) {
	l.restarts, l.probesAgain = true, l.now.Nanosecond()%2 == 0
	for i, c := range l.containers {
		if c.Kind != KindInit {
			c.crashes = 0
		}
		c.pullFailures = min(c.pullFailures, 1)
		l.pod.Containers[i] = c.Container
	}
}

// stopKubelet stops the kubelet at the given time by chance, at most once. The kubelet starts again some time later.
func (l *simulatedPod) stopKubelet(at time.Time) bool {
	if !l.restarts || !l.upAt.IsZero() || l.chance(0.5) {
		return false
	}
	l.downAt, l.upAt = at, at.Add(l.randomLength(time.Second, 40*time.Second))
	return true
}

// cancelPull ends a pull because the kubelet stops. The pull might not have begun.
func (l *simulatedPod) cancelPull(c *simulatedContainer) {
	for _, phase := range []Phase{PhasePullQueue, PhasePull} {
		l.now = l.now.Add(anyPart(l.upAt, l.downAt.Sub(l.now)))
		if phase == PhasePull {
			l.now = l.downAt
		}
		l.record(phase, c.Name, l.now, trueMilestone{MilestonePullRequested, c.Name, c.pulls})
	}
	l.now = l.upAt
	if proxy := l.repeatedProbe(c); proxy != nil {
		l.record(PhaseKubeletSync, c.Name, l.now, trueMilestone{})
		l.now = l.now.Add(100*time.Millisecond + anyPart(l.now, 20*time.Second))
		l.record(PhaseStartupProbe, proxy.Name, l.now, trueMilestone{})
		l.truth[len(l.truth)-1].repeated = true
	}
}

// repeatedProbe returns the sidecar whose startup probe a restarted kubelet repeats before it works on a container. The
// result is nil if the kubelet repeats no startup probe, or if a main container runs already.
func (l *simulatedPod) repeatedProbe(c *simulatedContainer) (proxy *simulatedContainer) {
	if !l.probesAgain {
		return nil
	}
	for _, o := range l.containers {
		_, ran := l.milestones[trueMilestone{MilestoneRunning, o.Name, 0}]
		switch {
		case o.Kind == KindMain && ran:
			return nil
		case o.Name != c.Name && o.Kind != KindMain && ran:
			proxy = o
		}
	}
	if proxy == nil || !proxy.StartupProbe {
		return nil
	}
	return proxy
}

// checkRepeatedProbe checks the property probeNamed. Unattributed time without candidates can have any cause.
func (p *propertyCheck) checkRepeatedProbe() {
	for _, s := range p.got.Phases {
		if s.Phase != PhaseUnattributed || len(s.MergedWith) == 0 || slices.Contains(s.MergedWith, PhaseStartupProbe) {
			continue
		}
		for _, actual := range p.truth {
			from, to := slices.MaxFunc([]time.Time{actual.start, s.StartAt}, time.Time.Compare),
				slices.MinFunc([]time.Time{actual.end, s.EndAt}, time.Time.Compare)
			if part := to.Sub(from); actual.repeated && part > s.Error {
				p.breaks(probeNamed, "the startup probe of %s took %s of the unattributed time from %s with %v ±%s",
					actual.container, part, sinceBase(s.StartAt), s.MergedWith, s.Error)
			}
		}
	}
}

// restart simulates the kubelet after a failed run. The kubelet makes the first restart without back-off, and later
// restarts after a back-off.
func (l *simulatedPod) restart(c *simulatedContainer) {
	ended := trueMilestone{MilestoneFinished, c.Name, c.attempt}
	finished := l.milestones[ended]
	c.wait, c.due = PhaseKubeletSync, finished.Add(l.randomLength(10*time.Millisecond, time.Second))
	if backoff := time.Duration(10*c.backoffs) * time.Second; backoff > 0 {
		if l.forgetsDuringRun(c, finished.Add(backoff-clearlyShorter)) {
			c.backoffs = 0
		} else {
			c.wait, c.due = PhaseCrashBackoff, finished.Add(backoff)
		}
	}
	if c.Kind == KindInit && l.forgetBackoff(c, clearlyShorter) {
		c.wait, c.backoffs = PhaseKubeletSync, 0
	}
	l.backedOff[ended] = c.wait == PhaseCrashBackoff
	c.backoffs++
	c.attempt++
	c.done = false
}

// clearlyShorter is the least difference between a usual back-off and a wait that is certainly shorter, whatever the
// sources lose. The difference covers the creation and the start of the container, and two timestamps in seconds.
const clearlyShorter = 7 * time.Second

// forgetBackoff restarts the kubelet by chance directly after a failure. The restarted kubelet has no back-off, so it
// retries immediately. The kubelet is not down until the last part of the back-off or longer, because no evidence
// separates the end of the back-off from the restart. The argument "last" is the length of this last part.
func (l *simulatedPod) forgetBackoff(c *simulatedContainer, last time.Duration) bool {
	if l.now.Before(l.held) {
		l.now = l.held
	}
	wait := c.due.Sub(l.now) - last
	if wait <= 2*time.Second || !l.stopKubelet(l.now) {
		return false
	}
	l.upAt = l.now.Add(l.randomLength(time.Second, wait))
	l.now, c.due = l.upAt, l.upAt
	return true
}

// forgetsDuringRun reports whether the kubelet restarted after it had created the container's current run, and works
// again before the instant "by". So the kubelet starts the next run without back-off.
func (l *simulatedPod) forgetsDuringRun(c *simulatedContainer, by time.Time) bool {
	created := l.milestones[trueMilestone{MilestoneContainerCreated, c.Name, c.attempt}]
	return created.Before(l.upAt) && l.upAt.Before(by)
}
