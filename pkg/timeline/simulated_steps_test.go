package timeline

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"
)

// chooseProbeTimes chooses the times when a running container becomes started and ready. The kubelet detects the start
// of a run up to a second late.
func (l *simulatedPod) chooseProbeTimes(c *simulatedContainer) {
	at := l.now.Add(l.detection(c))
	reached := func(m Milestone) bool {
		alive := c.attempt >= c.crashes || at.Before(c.endsAt)
		if alive {
			l.milestone(trueMilestone{m, c.Name, c.attempt}, at)
		}
		return alive
	}
	if c.StartupProbe {
		at = at.Add(l.randomLength(100*time.Millisecond, 20*time.Second))
	}
	if !reached(MilestoneStarted) {
		return
	}
	if c.ReadinessProbe {
		at = at.Add(l.randomLength(100*time.Millisecond, 10*time.Second))
	}
	reached(MilestoneContainerReady)
}

// becomeReady waits for the container that becomes ready last, and for the readiness gates.
func (l *simulatedPod) becomeReady() {
	var last *simulatedContainer
	var readyAt time.Time
	for _, c := range l.containers {
		if at := l.milestones[trueMilestone{MilestoneContainerReady, c.Name, c.attempt}]; c.Kind != KindInit &&
			at.After(readyAt) {
			last, readyAt = c, at
		}
	}
	started := l.milestones[trueMilestone{MilestoneStarted, last.Name, last.attempt}]
	if last.StartupProbe && started.After(l.now) {
		l.advance(PhaseStartupProbe, last, MilestoneStarted, last.attempt, started.Sub(l.now))
	}
	phase := PhaseKubeletSync
	if last.ReadinessProbe {
		phase = PhaseReadinessProbe
	}
	l.held = time.Time{}
	if lost := l.loseReadiness(last, readyAt); lost != nil {
		l.advance(phase, last, MilestoneContainerReady, last.attempt, readyAt.Sub(l.now))
		phase, last, readyAt = PhaseReadinessProbe, lost, l.losses[0].to
	}
	l.advance(phase, last, MilestoneContainersReady, 0, readyAt.Sub(l.now))
	if l.pod.ReadinessGates && l.loseReadinessAgain() {
		return
	}
	if l.pod.ReadinessGates {
		l.advance(PhaseReadinessGates, last, MilestoneReady, 0, l.randomLength(time.Millisecond, 5*time.Second))
		return
	}
	l.milestone(trueMilestone{milestone: MilestoneReady}, l.now)
}

// advance advances the time to the kubelet's next milestone. If a run crashes during the step, the crash ends a phase
// only if the kubelet waited.
func (l *simulatedPod) advance(p Phase, c *simulatedContainer, m Milestone, attempt int, d time.Duration) {
	key := trueMilestone{milestone: m, attempt: attempt}
	name := ""
	if c != nil {
		name = c.Name
		if m != MilestoneContainersReady && m != MilestoneReady {
			key.container = name
		}
	}
	end := l.now.Add(d)
	if l.held.After(l.now) {
		end = l.held.Add(d)
	}
	wait := p
	if p != PhaseKubeletSync && p != PhaseImageBackoff && p != PhaseCrashBackoff {
		wait = ""
	}
	for crash := l.nextCrash(); crash != nil && crash.endsAt.Before(end); crash = l.nextCrash() {
		l.endRun(crash, wait, name)
	}
	l.milestone(key, end)
	l.record(p, name, end, key)
	l.now = end
}

func (l *simulatedPod) record(p Phase, container string, end time.Time, ends trueMilestone) {
	l.truth = append(l.truth, stretch{phase: p, container: container, start: l.from, end: end, ends: ends})
	l.from = end
}

func (l *simulatedPod) milestone(k trueMilestone, t time.Time) { l.milestones[k] = t }

// createEvent creates an Event about the kubelet's last step. The kubelet creates the Event a moment after the step.
func (l *simulatedPod) createEvent(container, reason, message string) {
	late := l.randomLength(time.Microsecond, 3*time.Millisecond)
	if l.chance(0.1) {
		late = l.randomLength(time.Millisecond, 90*time.Millisecond)
	}
	if l.now.Before(l.held) {
		l.now = l.held
	}
	if isImageName(container) {
		container = "" // an Event about an image volume names only the image
	}
	if reason == "Pulling" { // the kubelet creates a Pulling Event before the step
		l.events = append(l.events, occurrence{l.now, container, reason, message})
		l.now = l.now.Add(late)
		return
	}
	l.held = l.now.Add(late)
	l.events = append(l.events, occurrence{l.held, container, reason, message})
}

// anyPart returns a random part of a length. anyPart derives the part from the instant t instead of a random number, so
// that other random choices do not change.
func anyPart(t time.Time, length time.Duration) time.Duration {
	return time.Duration(float64(length) * float64(t.Nanosecond()%1000) / 1000)
}

func (l *simulatedPod) chance(p float64) bool { return l.random.Float64() < p }

// randomLength returns a random length between the two limits. Each order of magnitude is equally likely.
func (l *simulatedPod) randomLength(from, to time.Duration) time.Duration {
	return time.Duration(float64(from) * math.Pow(float64(to)/float64(from), l.random.Float64()))
}

// inOrder returns all milestones, in the same order for each call.
func (l *simulatedPod) inOrder() []trueMilestone {
	return slices.SortedFunc(maps.Keys(l.milestones), func(a, b trueMilestone) int {
		return cmp.Or(
			l.milestones[a].Compare(l.milestones[b]),
			cmp.Compare(a.milestone, b.milestone),
			cmp.Compare(a.container, b.container),
			cmp.Compare(a.attempt, b.attempt),
		)
	})
}

// endsOnce reports whether the end of the start-up is unambiguous. The end is ambiguous if a container crashed after it
// was ready. A crash before the start of another main container does not count, because the pod was not ready yet.
func (l *simulatedPod) endsOnce() bool {
	for key, finished := range l.milestones {
		if key.milestone != MilestoneFinished {
			continue
		}
		if _, ready := l.milestones[trueMilestone{MilestoneContainerReady, key.container, key.attempt}]; !ready {
			continue
		}
		if !slices.ContainsFunc(l.containers, func(c *simulatedContainer) bool {
			return c.Kind == KindMain && c.Name != key.container &&
				l.milestones[trueMilestone{MilestoneRunning, c.Name, 0}].After(finished)
		}) {
			return false
		}
	}
	return true
}

// responseDelay returns the delay with which a kubelet without enough CPU receives the runtime's response about a pull.
// The delay of the Event is added to this delay. The method derives the delay from the clock, so that the random
// numbers of all other steps stay the same.
func (l *simulatedPod) responseDelay() time.Duration {
	const longest = time.Duration(responseDelay-eventSlack) / time.Millisecond
	n := time.Duration(l.now.Nanosecond())
	if n%5 > 0 {
		return 0
	}
	l.respondedLate = true
	return n / 5 % longest * time.Millisecond
}

// startContainer simulates the kubelet's work on one container, from the image to the start. The method returns false
// if the pull of the image failed.
func (l *simulatedPod) startContainer(c *simulatedContainer) bool {
	create := PhaseContainerCreate
	switch {
	case c.PullPolicy == PullAlways || !l.images[c.Image].at(l.now):
		if !l.pull(c) {
			return false
		}
	case c.attempt > 0: // the time between two runs is one phase
		create = c.wait
		l.now = l.now.Add(l.randomLength(time.Millisecond, 100*time.Millisecond))
		l.findPresent(c)
	default:
		if l.accessChecked {
			l.lookUpCredentials()
		}
		l.advance(c.wait, c, MilestonePullFinished, c.pulls, l.randomLength(time.Millisecond, 100*time.Millisecond))
		l.findPresent(c)
	}
	l.advance(create, c, MilestoneContainerCreated, c.attempt, l.randomLength(5*time.Millisecond, 3*time.Second))
	l.advance(PhaseContainerStart, c, MilestoneRunning, c.attempt, l.randomLength(5*time.Millisecond, time.Second))
	c.wait = PhaseKubeletSync
	return true
}
