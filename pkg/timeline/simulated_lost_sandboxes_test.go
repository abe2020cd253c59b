package timeline

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// TestSimulatedLostSandboxes simulates pods that lose their sandbox before they are ready: while the container runs, or
// during a back-off. The kubelet replaces the sandbox immediately, or the network plugin fails at first, or the kubelet
// hangs. The timeline must not charge this time to another party. The test leaves out sources that do not report all
// sandboxes with all their times.
func TestSimulatedLostSandboxes(t *testing.T) {
	for _, s := range slices.Concat(sourceSets, weakSets) {
		if !slices.Contains([]string{"all", "some Events", "late agent", "Events off"}, s.name) {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			inBackoff := uint64(0)
			for seed := *fromSeed; seed < *fromSeed+s.podCount(); seed++ {
				l := simulateChanged(rand.New(rand.NewPCG(seed, 18)), withLostSandbox)
				breaches := checkObserved(t, s, seed, l)
				for _, property := range []property{milestoneHeld, totalHeld, noCauseOvercharge, errorPossible} {
					if breach := breaches[property]; breach != "" {
						t.Fatalf("%s: %s", property, breach)
					}
				}
				if l.lostInBackoff {
					inBackoff++
				}
			}
			if *seeds >= 700 && inBackoff < s.podCount()/10 {
				t.Errorf("only %d sandboxes were lost during a back-off: the test proves nothing", inBackoff)
			}
		})
	}
}

// withLostSandbox reduces a simulated pod to one main container whose image is present.
func withLostSandbox(l *simulatedPod) {
	l.losesSandbox, l.stamped = true, true
	c := l.containers[len(l.containers)-1]
	c.pullFailures, c.crashes, c.PullPolicy, c.RestartsAlways = 0, 0, PullIfNotPresent, true
	*l.images[c.Image] = storedImage{present: true}
	l.containers, l.pod.Containers = []*simulatedContainer{c}, []Container{c.Container}
}

// loseSandbox runs the container until the sandbox dies, and then replaces the sandbox. The container can fail several
// times before.
func (l *simulatedPod) loseSandbox(c *simulatedContainer) {
	l.now = l.now.Add(l.randomLength(time.Millisecond, time.Second))
	for failures := l.random.IntN(3); ; failures-- {
		if l.now.Before(c.due) {
			l.now = c.due
		}
		l.startContainer(c)
		ended := trueMilestone{MilestoneFinished, c.Name, c.attempt}
		length := l.randomLength(5*time.Millisecond, 8*time.Second)
		if failures == 0 {
			l.exits[ended] = []int{0, 1, codeKilled, codeTerminated}[l.random.IntN(4)]
			l.advance(PhaseSandboxLost, c, MilestoneFinished, c.attempt, length)
			l.restart(c)
			l.backedOff[ended] = false // the kubelet replaces the sandbox before it reports a back-off
			break
		}
		l.exits[ended] = l.random.IntN(2)
		l.advance(PhaseFailedRun, c, MilestoneFinished, c.attempt, length)
		l.restart(c)
		if c.wait == PhaseCrashBackoff && l.chance(0.5) {
			l.lostInBackoff = true
			l.now = l.now.Add(anyPart(l.now, c.due.Sub(l.now)))
			l.record(PhaseCrashBackoff, c.Name, l.now, trueMilestone{})
			break
		}
	}
	l.lostAt = l.now
	l.replaceSandbox()
	if c.due.Before(l.now) {
		c.wait = PhaseKubeletSync
	}
}

// replaceSandbox simulates the time from the loss of a sandbox until the next sandbox runs.
func (l *simulatedPod) replaceSandbox() {
	l.now = l.now.Add(l.randomLength(10*time.Millisecond, 1500*time.Millisecond))
	l.record(PhaseSandboxLost, "", l.now, trueMilestone{})
	wait := PhaseSandboxLost
	switch l.random.IntN(3) {
	case 0:
		wait = PhaseNetwork
		for range 1 + l.random.IntN(3) {
			l.createEvent("", "FailedCreatePodSandBox", `rpc error: failed to setup network for sandbox "later"`)
			l.now = l.now.Add(l.randomLength(10*time.Second, 16*time.Second))
		}
	case 1:
		wait = PhaseKubeletSync
		l.downAt, l.upAt = l.now, l.now.Add(l.randomLength(time.Second, 40*time.Second))
		l.now = l.upAt
	}
	l.advance(wait, nil, MilestoneSandboxBegun, 1, l.randomLength(5*time.Millisecond, 300*time.Millisecond))
	l.advance(PhaseNetwork, nil, MilestoneNetworkReady, 1, l.randomLength(5*time.Millisecond, time.Second))
	l.advance(PhaseSandbox, nil, MilestoneSandboxRunning, 1, l.randomLength(5*time.Millisecond, time.Second))
}

// lostSandboxesAt returns the runtime's response about the lost sandbox and the next sandbox.
func (w *simulatedSources) lostSandboxesAt(t time.Time) (all []Sandbox) {
	for attempt := range 2 {
		at := func(m Milestone) time.Time { return w.upTo(trueMilestone{m, "", attempt}, t) }
		if at(MilestoneSandboxRunning).IsZero() {
			break
		}
		all = append(all, Sandbox{Attempt: attempt, Ready: attempt == 1 || t.Before(w.lostAt),
			BegunAt: at(MilestoneSandboxBegun), NetworkReadyAt: at(MilestoneNetworkReady),
			RunningAt: at(MilestoneSandboxRunning), ImageKnown: true})
	}
	return all
}
