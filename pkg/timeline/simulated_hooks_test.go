package timeline

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// TestSimulatedHooks simulates pods with post-start hooks. Before the kubelet requests a pull, it might run a
// credential plugin. A kubelet that checks the access to present images also runs the plugin before it finds a present
// image. The timeline must not charge the plugin to the application, whatever the sources lose.
func TestSimulatedHooks(t *testing.T) {
	for _, s := range sourceSets {
		t.Run(s.name, func(t *testing.T) {
			for seed := *fromSeed; seed < *fromSeed+*seeds; seed++ {
				l := simulateChanged(rand.New(rand.NewPCG(seed, 13)), withHooks)
				if breach := checkObserved(t, s, seed, l)[noCauseOvercharge]; breach != "" {
					t.Fatal(breach)
				}
			}
		})
	}
}

// withHooks gives some containers of a simulated pod a post-start hook. No container fails.
func withHooks(l *simulatedPod) {
	l.credentials, l.accessChecked, l.pod.PullSecrets = true, l.chance(0.5), l.chance(0.5)
	for i, c := range l.containers {
		c.crashes, c.pullFailures = 0, 0
		c.PostStartHook = c.Kind != KindInit && l.chance(0.5)
		l.pod.Containers[i] = c.Container
	}
}

// runHook runs the post-start hook of a container. The kubelet waits for the end of the hook.
func (l *simulatedPod) runHook(c *simulatedContainer) {
	if c.PostStartHook {
		length := l.randomLength(5*time.Millisecond, 20*time.Second)
		l.advance(PhasePostStartHook, c, MilestonePostStarted, c.attempt, length)
	}
}

// findPresent creates the Event about a present image.
func (l *simulatedPod) findPresent(c *simulatedContainer) {
	message := fmt.Sprintf("Container image %q already present on machine", c.Image)
	if l.accessChecked {
		message += " and can be accessed by the pod"
	}
	l.createEvent(c.Name, "Pulled", message)
}

// lookUpCredentials runs a credential plugin before a request for a pull or before the check of a present image.
func (l *simulatedPod) lookUpCredentials() {
	if l.credentials && l.chance(0.5) {
		l.now = l.now.Add(l.randomLength(time.Millisecond, 20*time.Second))
	}
}

// hookOf returns the duration of the hook after the start of a container.
func (l *simulatedPod) hookOf(started trueMilestone) time.Duration {
	key := trueMilestone{MilestonePostStarted, started.container, started.attempt}
	if over, hooked := l.milestones[key]; hooked {
		return over.Sub(l.milestones[started])
	}
	return 0
}

// hookRuns reports whether a container's hook had not ended at the time t. The kubelet reports the container as running
// only after the hook.
func (w *simulatedSources) hookRuns(c *simulatedContainer, attempt int, t time.Time) bool {
	return c.PostStartHook && w.upTo(trueMilestone{MilestonePostStarted, c.Name, attempt}, t).IsZero()
}
