package timeline

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// TestSimulatedSlowLists simulates pods on a node where the kubelet needs seconds to list the containers. So it detects
// the end of an init container or the start of a sidecar late. In the meantime, another pod can pull the image of the
// next container. The timeline must not report this pull as the pod's own pull, whatever the sources lose.
func TestSimulatedSlowLists(t *testing.T) {
	for _, s := range slices.Concat(sourceSets, weakSets) {
		t.Run(s.name, func(t *testing.T) {
			slow := uint64(0)
			for seed := *fromSeed; seed < *fromSeed+s.podCount(); seed++ {
				l := simulateChanged(rand.New(rand.NewPCG(seed, 18)), withSlowLists)
				breaches := checkObserved(t, s, seed, l)
				for _, property := range []property{
					noConflict, milestoneHeld, totalHeld, noCauseOvercharge, outcomeTrue, errorPossible,
				} {
					if breach := breaches[property]; breach != "" {
						t.Fatalf("%s: %s", property, breach)
					}
				}
				if len(l.detectedAt) > 0 {
					slow++
				}
			}
			if *seeds >= 700 && slow < s.podCount()/3 {
				t.Errorf("only %d pods had a late detection: the test proves nothing", slow)
			}
		})
	}
}

// withSlowLists makes the kubelet's lists slow. No container and no pull fails. Other pods pull images only while the
// kubelet has not detected a change yet.
func withSlowLists(l *simulatedPod) {
	l.slowLists, l.detectedAt = true, map[trueMilestone]time.Time{}
	for i, c := range l.containers {
		c.crashes, c.pullFailures, c.PullPolicy = 0, 0, PullIfNotPresent
		l.pod.Containers[i] = c.Container
		l.images[c.Image] = &storedImage{present: i == 0 && l.chance(0.5)}
	}
}

// detectLate returns the time that a kubelet with slow lists needs to detect a milestone. In this time, other pods can
// pull the pod's images.
func (l *simulatedPod) detectLate(k trueMilestone) time.Duration {
	wait := l.randomLength(time.Second, 8*time.Second)
	l.detectedAt[k] = l.now.Add(wait)
	for _, c := range l.containers {
		if s := l.images[c.Image]; !s.at(l.detectedAt[k]) && l.chance(0.5) {
			ends := l.now.Add(time.Duration(l.random.Int64N(int64(wait))))
			s.pull(ends)
			s.receiveManifest(ends.Add(-anyPart(ends, time.Second)))
		}
	}
	return wait
}

// detect waits until the kubelet detects that the previous init container has finished. A sidecar needs no such wait,
// because the kubelet continues as soon as it detects the start of the sidecar. Before the first container, the kubelet
// lists no containers. It only receives the runtime's response about the sandbox and asks for the state of the sandbox
// (SyncPod in pkg/kubelet/kuberuntime). So this wait is as short as any other wait for a response.
func (l *simulatedPod) detect() {
	wait := l.randomLength(time.Millisecond, time.Second)
	if !l.hasCreated() {
		wait = min(wait, time.Duration(responseDelay-eventSlack))
	}
	if l.slowLists {
		if ended := l.undetected(); ended == (trueMilestone{}) {
			wait = l.randomLength(time.Millisecond, 10*time.Millisecond)
		} else {
			wait = l.detectLate(ended)
		}
	}
	l.now = l.now.Add(wait)
}

// hasCreated reports whether the kubelet has created a container.
func (l *simulatedPod) hasCreated() bool {
	for k := range l.milestones {
		if k.milestone == MilestoneContainerCreated {
			return true
		}
	}
	return false
}

// undetected returns the end of an init container that the kubelet has not detected yet.
func (l *simulatedPod) undetected() trueMilestone {
	for _, c := range l.containers {
		ended := trueMilestone{MilestoneFinished, c.Name, c.attempt}
		_, known := l.detectedAt[ended]
		if at := l.milestones[ended]; c.Kind == KindInit && !at.IsZero() && !known {
			return ended
		}
	}
	return trueMilestone{}
}

// detection returns the time that the kubelet needs to detect the start of a container.
func (l *simulatedPod) detection(c *simulatedContainer) time.Duration {
	if l.slowLists && c.Kind == KindSidecar {
		return l.detectLate(trueMilestone{MilestoneRunning, c.Name, c.attempt})
	}
	return l.randomLength(time.Millisecond, time.Second)
}

// detectedBy does the same as upTo, but a milestone counts only if the kubelet had detected it.
func (w *simulatedSources) detectedBy(k trueMilestone, t time.Time) time.Time {
	if w.detectedAt[k].After(t) {
		return time.Time{}
	}
	return w.upTo(k, t)
}
