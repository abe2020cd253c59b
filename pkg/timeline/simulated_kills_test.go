package timeline

import (
	"math/rand/v2"
	"testing"
)

// TestSimulatedKills simulates pods whose containers fail by themselves, exceed their memory limit, fail a liveness
// probe, or are killed by another party. For example, the node runs out of memory. The timeline must not charge a run
// that another party ended to the application, whatever the sources lose.
func TestSimulatedKills(t *testing.T) {
	for _, s := range sourceSets {
		t.Run(s.name, func(t *testing.T) {
			charged := 0
			for seed := *fromSeed; seed < *fromSeed+*seeds; seed++ {
				l := simulateChanged(rand.New(rand.NewPCG(seed, 15)), withKills)
				if breach := checkObserved(t, s, seed, l)[noCauseOvercharge]; breach != "" {
					t.Fatal(breach)
				}
				for _, phase := range l.truth {
					if phase.phase == PhaseUnattributed {
						charged++
					}
				}
			}
			if *seeds >= 700 && charged < 100 {
				t.Errorf("other parties killed only %d runs: the test proves nothing", charged)
			}
		})
	}
}

// withKills lets most containers fail at first. All images are present, so that no pull fails.
func withKills(l *simulatedPod) {
	l.kills = true
	for _, image := range l.images {
		*image = storedImage{present: true}
	}
	for i, c := range l.containers {
		c.pullFailures, c.PullPolicy = 0, PullIfNotPresent
		if c.Kind != KindSidecar {
			c.crashes = l.random.IntN(3)
		}
		c.MemoryLimited, c.LivenessProbe = l.chance(0.5), c.Kind != KindInit && l.chance(0.3)
		l.pod.Containers[i] = c.Container
	}
}

// failRun chooses why the current run of a container fails. The argument "own" is the phase of a run that fails because
// of the container itself. The result is the phase of the run. PhaseUnattributed means that another party killed the
// container.
func (l *simulatedPod) failRun(c *simulatedContainer, own Phase) Phase {
	key := trueMilestone{MilestoneFinished, c.Name, c.attempt}
	l.exits[key] = 1
	if !l.kills {
		return own
	}
	switch l.random.IntN(5) {
	case 0: // the container exceeds its memory limit
		if c.MemoryLimited {
			l.exits[key], l.reasons[key] = codeKilled, reasonOutOfMemory
		}
	case 1: // the kubelet stops the container because of its liveness probe
		if c.LivenessProbe {
			l.exits[key] = []int{codeKilled, codeTerminated}[l.random.IntN(2)]
		}
	case 2: // the node runs out of memory
		l.exits[key], l.reasons[key] = codeKilled, reasonOutOfMemory
		return PhaseUnattributed
	case 3: // somebody kills or stops the container
		l.exits[key] = []int{codeKilled, codeTerminated}[l.random.IntN(2)]
		return PhaseUnattributed
	}
	return own
}
