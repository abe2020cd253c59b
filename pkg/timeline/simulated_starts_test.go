package timeline

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// startEvents returns the Created and Started Events of a simulated pod, in order of time. An Event watch can leave
// these Events out.
func (l *simulatedPod) startEvents() (all []occurrence) {
	for _, k := range l.inOrder() {
		made := l.milestones[k].Add(anyPart(l.milestones[k], 3*time.Millisecond))
		switch k.milestone {
		case MilestoneContainerCreated:
			all = append(all, occurrence{made, k.container, reasonCreated, "Container created"})
		case MilestoneRunning:
			all = append(all, occurrence{made, k.container, reasonStarted, "Container started"})
		}
	}
	return all
}

// droppedEvents returns the Events that the kubelet's client drops (client-go, tools/record). Created and Started
// Events count toward the client's limit, even if an Event watch leaves them out.
func (l *simulatedPod) droppedEvents() map[occurrence]bool {
	all := slices.Concat(l.events, l.startEvents())
	slices.SortStableFunc(all, func(a, b occurrence) int { return a.at.Compare(b.at) })
	drops, tokens, tokensAt := map[occurrence]bool{}, float64(spamLimit), all[0].at
	for _, o := range all {
		tokens = min(spamLimit, tokens+float64(o.at.Sub(tokensAt))/float64(spamInterval))
		if tokensAt = o.at; tokens < 1 {
			drops[o] = true
			continue
		}
		tokens--
	}
	return drops
}

// withStarts adds the Created and Started Events to the observations of a pod.
func (w *simulatedSources) withStarts(observations []Observation) []Observation {
	drops, kept := map[occurrence]bool{}, []occurrence{}
	if w.loss.limited {
		drops = w.droppedEvents()
	}
	for _, o := range w.startEvents() {
		if !drops[o] {
			kept = append(kept, o)
		}
	}
	return withEvents(observations, kept)
}

// withEvents adds Events to the observations of a pod. The latest Event watch delivers the Events.
func withEvents(observations []Observation, events []occurrence) []Observation {
	var watched EventsWatched
	for _, o := range observations {
		if o, ok := o.(EventsWatched); ok {
			watched = o
		}
	}
	all, objects := slices.Clone(observations), map[string]EventSeen{}
	for _, o := range events {
		key := o.container + o.reason
		seen, repeated := objects[key]
		if !repeated {
			seen = EventSeen{UID: observations[0].PodUID(), Container: o.container, Reason: o.reason,
				Message: o.message, NamedAt: o.at, FirstAt: o.at.Truncate(time.Second)}
		}
		seen.ArrivedAt, seen.Live = o.at.Add(time.Millisecond+anyPart(o.at, 20*time.Millisecond)), true
		seen.LastAt, seen.Count = o.at.Truncate(time.Second), seen.Count+1
		objects[key] = seen
		if seen.ArrivedAt.Before(watched.OpenedAt) {
			seen.ArrivedAt, seen.Live = watched.OpenedAt.Add(time.Millisecond), false
		}
		if !o.at.Before(watched.Since) {
			all = append(all, seen)
		}
	}
	slices.SortStableFunc(all, func(a, b Observation) int { return a.Arrived().Compare(b.Arrived()) })
	return all
}

// limitedSets are source sets without some Events, because the kubelet reached the limit of its client.
var limitedSets = []sourceSet{
	{"all, limited", Scope{Runtime: true, Events: true}, func(*rand.Rand) loss { return loss{limited: true} }},
	{"some, limited", Scope{Runtime: true, Events: true}, func(random *rand.Rand) loss {
		l := someLoss(random)
		l.limited = true
		return l
	}},
	{"no runtime, limited", Scope{Events: true}, func(*rand.Rand) loss { return loss{limited: true} }},
}

// TestSimulatedPodsWithoutStarts folds simulated pods with and without their Created and Started Events, after the end
// and three times before the end. The two timelines must agree. Before the end, a timeline without these Events can
// list more missing milestones, because the agent learns later that the kubelet's client reached its limit.
func TestSimulatedPodsWithoutStarts(t *testing.T) {
	for _, s := range slices.Concat(sourceSets, limitedSets) {
		if !s.scope.Events {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			for seed := *fromSeed; seed < *fromSeed+*seeds/3; seed++ {
				l := simulate(rand.New(rand.NewPCG(seed, 11)))
				if !l.endsOnce() {
					continue
				}
				random := rand.New(rand.NewPCG(seed, 12))
				w := &simulatedSources{simulatedPod: l, random: random, loss: s.loss(random)}
				without := w.observe(s.scope)
				with := w.withStarts(without)
				last := slices.MaxFunc(without, func(a, b Observation) int { return a.Arrived().Compare(b.Arrived()) }).
					Arrived()
				created := l.milestones[trueMilestone{milestone: MilestoneCreated}]
				compareFolds(t, s.scope, with, without, last.Add(20*time.Second), false)
				for range 3 {
					now := created.Add(time.Duration(random.Int64N(int64(last.Sub(created)))))
					compareFolds(t, s.scope, with, without, now, true)
				}
				if t.Failed() {
					t.Fatalf("seed %d", seed)
				}
			}
		})
	}
}

// compareFolds fails unless two lists of observations lead to the same timeline, apart from the texts of Events. If
// "more" is true, the timeline without some Events can list more missing milestones.
func compareFolds(t *testing.T, scope Scope, with, without []Observation, now time.Time, more bool) {
	t.Helper()
	fold := func(observations []Observation) Timeline {
		e := NewEvidence(scope)
		for _, o := range observations {
			if !o.Arrived().After(now) {
				e.Apply(o)
			}
		}
		got, _ := e.Timeline(now, Skew{})
		got.EventMessage = nil
		return got
	}
	compareTimelines(t, fold(with), fold(without), more)
}
