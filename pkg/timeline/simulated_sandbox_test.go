package timeline

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// TestSimulatedColdSandboxes simulates containerd 1.x and CRI-O on a node without the sandbox image. The runtime pulls
// the image, and then fails to create the sandbox. The timeline must not charge the pull to another party, whatever the
// sources lose.
func TestSimulatedColdSandboxes(t *testing.T) {
	for _, s := range slices.Concat(sourceSets, weakSets) {
		t.Run(s.name, func(t *testing.T) {
			for seed := *fromSeed; seed < *fromSeed+s.podCount(); seed++ {
				l := simulateChanged(rand.New(rand.NewPCG(seed, 20)), withColdSandbox)
				breaches := checkObserved(t, s, seed, l)
				for _, property := range []property{noCauseOvercharge, candidatesTrue, errorPossible} {
					if breach := breaches[property]; breach != "" && (property != candidatesTrue || s.name == "all") {
						t.Fatalf("%s: %s", property, breach)
					}
				}
			}
		})
	}
}

// withColdSandbox reduces a simulated pod to one main container whose image is present.
func withColdSandbox(l *simulatedPod) {
	l.coldSandbox, l.stamped = true, false
	c := l.containers[len(l.containers)-1]
	c.pullFailures, c.crashes, c.PullPolicy = 0, 0, PullIfNotPresent
	*l.images[c.Image] = storedImage{present: true}
	l.containers, l.pod.Containers = []*simulatedContainer{c}, []Container{c.Container}
}

// pullSandboxImage pulls the sandbox image and prepares the sandbox, before the first attempt to create the sandbox
// fails.
func (l *simulatedPod) pullSandboxImage() {
	if !l.coldSandbox || !l.sandboxStored.IsZero() {
		return
	}
	l.now = l.now.Add(l.randomLength(10*time.Millisecond, 60*time.Second))
	l.record(PhaseSandboxImage, "", l.now, trueMilestone{})
	l.sandboxStored = l.now
	l.now = l.now.Add(l.randomLength(time.Millisecond, time.Second))
	l.record(PhaseSandbox, "", l.now, trueMilestone{})
}

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
			stored := w.sandboxStored
			if stored.IsZero() {
				stored = created.Add(-24 * time.Hour)
			}
			return []Sandbox{{Ready: true, BegunAt: created, NetworkReadyAt: network, Unstamped: true, ImageFirst: true,
				ImageStoredAt: stored}}
		}
		return []Sandbox{{Ready: true, CreatedAt: created, Unstamped: true}}
	}
	return []Sandbox{
		{Ready: true, BegunAt: w.milestones[trueMilestone{milestone: MilestoneSandboxBegun}], NetworkReadyAt: network,
			RunningAt: running, ImageKnown: true},
	}
}

// joinLateRetry joins the first two reported phases if they report the time after a failed sandbox. The kubelet tries
// again after 10 to 16 s (backOffPeriod with jitter in pkg/kubelet/pod_workers.go; the kubelet checks its work queue
// once a second). If the next failure or sandbox comes more than 1 s later, no source shows what took longer: the
// kubelet or the attempt. So the timeline splits the time at the retry, and the rest is unattributed
// (docs/architecture.md, "The time around an obstacle").
func (p *propertyCheck) joinLateRetry(reported []Span, s stretch) []Span {
	afterFailure := false
	for k, at := range p.milestones {
		afterFailure = afterFailure || k.milestone == MilestoneSandboxFailed && at.Equal(s.start)
	}
	if !afterFailure || s.end.Sub(s.start) <= 17*time.Second || len(reported) < 2 ||
		reported[0].Phase != s.phase || reported[1].Phase != PhaseUnattributed ||
		reported[0].EndAt.Sub(s.end).Abs() <= reported[1].EndAt.Sub(s.end).Abs() {
		return reported // no split, or the second phase is the next true phase
	}
	joined := reported[0]
	joined.EndAt, joined.Error = reported[1].EndAt, joined.Error+reported[1].Error
	return slices.Concat([]Span{joined}, reported[2:])
}
