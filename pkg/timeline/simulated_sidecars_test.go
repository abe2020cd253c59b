package timeline

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// TestSimulatedSidecars simulates pods whose sidecars fail after they had started, while the kubelet works on later
// containers. The kubelet restarts the sidecar before it starts the next container. The sources can miss the first
// start of a sidecar, for example because the agent starts late.
func TestSimulatedSidecars(t *testing.T) {
	for _, s := range slices.Concat(sourceSets, weakSets) {
		t.Run(s.name, func(t *testing.T) {
			failed := uint64(0)
			for seed := *fromSeed; seed < *fromSeed+s.podCount(); seed++ {
				for _, c := range checkSidecars(t, s, seed).containers {
					if c.Kind == KindSidecar && c.attempt > 0 {
						failed++
					}
				}
			}
			for _, seed := range rareSidecars {
				checkSidecars(t, s, seed)
			}
			if *seeds >= 700 && failed < s.podCount()/7 {
				t.Errorf("only %d sidecars failed: the test proves nothing", failed)
			}
		})
	}
}

// rareSidecars lists further seeds for which a timeline was wrong.
var rareSidecars = []uint64{200829}

// checkSidecars compares the timeline of one simulated pod with the truth.
func checkSidecars(t *testing.T, s sourceSet, seed uint64) *simulatedPod {
	l := simulateChanged(rand.New(rand.NewPCG(seed, 17)), withFailingSidecars)
	breaches := checkObserved(t, s, seed, l)
	for _, property := range []property{noConflict, milestoneHeld, totalHeld, noCauseOvercharge, errorPossible} {
		if breach := breaches[property]; breach != "" {
			t.Fatalf("%s: %s", property, breach)
		}
	}
	return l
}

// withFailingSidecars lets each sidecar fail once. No other container and no pull fails.
func withFailingSidecars(l *simulatedPod) {
	l.sidecarsFail = true
	for i, c := range l.containers {
		c.crashes, c.pullFailures, c.PullPolicy = 0, 0, PullIfNotPresent
		c.ReadinessProbe = c.ReadinessProbe && c.Kind != KindSidecar
		l.pod.Containers[i] = c.Container
	}
}

// crashSidecar lets a sidecar fail by chance, some time after it had started.
func (l *simulatedPod) crashSidecar(c *simulatedContainer) {
	if l.sidecarsFail && l.chance(0.5) {
		c.endsAt = l.now.Add(l.randomLength(5*time.Millisecond, 10*time.Second))
		l.crashing = append(l.crashing, c)
		c.done = true
	}
}

// restartSidecars starts the failed sidecars again, before the kubelet works on the next container.
func (l *simulatedPod) restartSidecars() {
	for _, c := range l.containers {
		if c.Kind == KindSidecar && c.attempt == 1 && !c.done && l.sidecarsFail {
			c.done = true
			l.startContainer(c)
			l.chooseProbeTimes(c)
		}
	}
}
