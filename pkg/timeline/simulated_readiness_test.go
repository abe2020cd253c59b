package timeline

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// losslessSets are source sets that report every change of a container's readiness. Without Events or without the
// runtime, the order of a run's end and of another container's pull can be unknown.
var losslessSets = []sourceSet{
	sourceSets[0],
	{"some Events", Scope{Runtime: true, Events: true}, func(*rand.Rand) loss { return loss{revision: true} }},
	{"CRI only", Scope{Runtime: true, Events: true}, func(*rand.Rand) loss { return loss{storeless: true} }},
	{"shuffled", Scope{Runtime: true, Events: true}, func(*rand.Rand) loss { return loss{shuffled: true} }},
}

// TestSimulatedReadiness simulates pods whose containers were ready and then lost their readiness, while the pod waits
// for another container or for its readiness gates. Either a readiness probe fails again, or a container fails. The
// timeline must not charge the time in which a container was ready to this container.
func TestSimulatedReadiness(t *testing.T) {
	for _, s := range losslessSets {
		t.Run(s.name, func(t *testing.T) {
			lost, failed := uint64(0), uint64(0)
			for seed := *fromSeed; seed < *fromSeed+*seeds; seed++ {
				l := simulateChanged(rand.New(rand.NewPCG(seed, 18)), withLostReadiness)
				breaches := checkObserved(t, s, seed, l)
				for _, property := range []property{noConflict, totalHeld, noCauseOvercharge, errorPossible} {
					if breach := breaches[property]; breach != "" {
						t.Fatalf("%s: %s", property, breach)
					}
				}
				if breaches == nil {
					continue
				}
				lost += uint64(len(l.losses))
				if slices.ContainsFunc(l.truth, func(s stretch) bool {
					return s.ends.milestone == MilestoneFinished && s.phase == PhaseImageBackoff
				}) {
					failed++
				}
			}
			if *seeds >= 700 && (lost < *seeds/4 || failed < *seeds/70) {
				t.Errorf("%d readiness probes failed, %d ready containers: the test proves nothing", lost, failed)
			}
		})
	}
}

// withLostReadiness gives most containers a readiness probe, and lets many containers and pulls fail.
func withLostReadiness(l *simulatedPod) {
	l.losesReadiness, l.pod.ReadinessGates = true, l.chance(0.5)
	for i, c := range l.containers {
		if c.Kind == KindMain {
			c.ReadinessProbe = l.chance(0.7)
			c.crashes, c.pullFailures = l.random.IntN(2), l.random.IntN(2)
		}
		l.pod.Containers[i] = c.Container
	}
}

// readinessLoss is a time in which a readiness probe failed after it had succeeded.
type readinessLoss struct {
	container string
	from, to  time.Time
}

// loseReadiness lets the readiness probe of a container fail by chance, before the container "last" is ready. The
// result is this container, or nil.
func (l *simulatedPod) loseReadiness(last *simulatedContainer, readyAt time.Time) *simulatedContainer {
	for _, c := range l.containers {
		own := l.milestones[trueMilestone{MilestoneContainerReady, c.Name, c.attempt}]
		if !l.losesReadiness || c == last || !c.ReadinessProbe || c.Kind == KindInit || l.chance(0.3) {
			continue
		}
		if wait := readyAt.Sub(own); wait > time.Second {
			from := own.Add(100*time.Millisecond + anyPart(own, wait-200*time.Millisecond))
			l.losses = append(l.losses,
				readinessLoss{c.Name, from, readyAt.Add(l.randomLength(100*time.Millisecond, 20*time.Second))})
			return c
		}
	}
	return nil
}

// loseReadinessAgain lets a readiness probe fail by chance while the pod waits for its readiness gates. The gates open
// before or after the probe succeeds again.
func (l *simulatedPod) loseReadinessAgain() bool {
	i := slices.IndexFunc(l.containers, func(c *simulatedContainer) bool {
		return c.Kind != KindInit && c.ReadinessProbe
	})
	if !l.losesReadiness || i < 0 || l.chance(0.3) {
		return false
	}
	c := l.containers[i]
	lost := l.now.Add(l.randomLength(time.Second, 10*time.Second))
	again := lost.Add(l.randomLength(time.Second, 20*time.Second))
	opened := lost.Add(l.randomLength(time.Millisecond, 30*time.Second))
	l.losses = append(l.losses, readinessLoss{c.Name, lost, again})
	key, ready := trueMilestone{MilestoneContainersReady, "", 1}, trueMilestone{milestone: MilestoneReady}
	l.record(PhaseReadinessGates, "", lost, key)
	if opened.Before(again) {
		l.recordEither(PhaseReadinessGates, "", opened, key, PhaseReadinessProbe, c.Name)
		l.record(PhaseReadinessProbe, c.Name, again, ready)
	} else {
		l.recordEither(PhaseReadinessGates, "", again, key, PhaseReadinessProbe, c.Name)
		l.record(PhaseReadinessGates, "", opened, ready)
	}
	l.now = l.from
	l.milestone(key, again)
	l.milestone(ready, l.now)
	return true
}

// recordEither records a phase for which two parties are equally responsible.
func (l *simulatedPod) recordEither(p Phase, container string, end time.Time, ends trueMilestone, or Phase,
	other string) {
	l.record(p, container, end, ends)
	l.truth[len(l.truth)-1].or = &phaseCandidates{phases: []Phase{or}, container: other}
}

// recordRun records the end of a failed run while the kubelet waits for another container. From the time at which the
// failed container was ready, only the other container delayed the pod. The sources of most tests can miss that the
// container was ready, so these tests also accept the failed run.
func (l *simulatedPod) recordRun(c *simulatedContainer, failed, wait Phase, of string) {
	ends := trueMilestone{MilestoneFinished, c.Name, c.attempt}
	readyAt, ready := l.milestones[trueMilestone{MilestoneContainerReady, c.Name, c.attempt}]
	switch {
	case !ready || wait == PhaseFailedRun:
		l.record(failed, c.Name, c.endsAt, ends)
	case l.losesReadiness:
		if readyAt.After(l.from) {
			l.recordEither(failed, c.Name, readyAt, ends, wait, of)
		}
		l.record(wait, of, c.endsAt, ends)
	default:
		l.recordEither(failed, c.Name, c.endsAt, ends, wait, of)
	}
}

func (w *simulatedSources) lostReadiness(c *simulatedContainer, t time.Time) bool {
	return slices.ContainsFunc(w.losses, func(lost readinessLoss) bool {
		return lost.container == c.Name && !t.Before(lost.from) && t.Before(lost.to)
	})
}

// loseContainersReady changes the condition ContainersReady if it had become false again at the time t.
func (w *simulatedSources) loseContainersReady(conditions []Condition, t time.Time) {
	first := w.milestones[trueMilestone{milestone: MilestoneContainersReady}]
	for _, lost := range w.losses {
		i := slices.IndexFunc(conditions, func(c Condition) bool { return c.Type == "ContainersReady" })
		switch {
		case i < 0 || lost.from.Before(first) || t.Before(lost.from):
		case t.Before(lost.to):
			conditions[i] = Condition{"ContainersReady", false, lost.from.Truncate(time.Second)}
		default:
			conditions[i].TransitionAt = lost.to.Truncate(time.Second)
		}
	}
}
