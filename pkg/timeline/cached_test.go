package timeline

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"
)

// TestCachedTimelineEqualsNewFold requests the timelines of scripts, random observations and simulated pods at many
// instants. Some requests follow new observations, and others do not. The test compares each returned timeline with a
// new fold.
func TestCachedTimelineEqualsNewFold(t *testing.T) {
	var asked, again int
	check := func(name string, seed uint64, scope Scope, observations []Observation) {
		a, b := checkCached(t, fmt.Sprintf("%s, seed %d", name, seed), seed, scope, observations)
		asked, again = asked+a, again+b
	}
	for _, s := range Scripts(t) {
		for seed := range uint64(10) {
			check(s.Name, seed, s.Scope, s.Observations)
		}
	}
	for seed := range uint64(1300) {
		check("nonsense", seed, Scope{Runtime: true, Events: true}, RandomObservations(seed))
	}
	for seed := range uint64(60) {
		for _, s := range sourceSets {
			random := rand.New(rand.NewPCG(seed, 12))
			w := &simulatedSources{simulatedPod: simulate(rand.New(rand.NewPCG(seed, 11))), random: random,
				loss: s.loss(random)}
			observations := w.observe(s.scope)
			check(s.name, seed, s.scope, observations)
			slices.SortStableFunc(observations, func(a, b Observation) int { return a.Arrived().Compare(b.Arrived()) })
			check(s.name+" in order", seed, s.scope, observations)
		}
	}
	t.Logf("%d of %d from the cache", again, asked)
	if again < asked/5 {
		t.Errorf("only %d of %d from the cache", again, asked)
	}
}

// checkCached compares the timelines of observations with new folds. checkCached returns the number of requested
// timelines, and the number of timelines from the cache.
func checkCached(
	t *testing.T, name string, seed uint64, scope Scope, observations []Observation,
) (asked, again int) {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 21))
	e := NewEvidence(scope)
	now, skew := base, Skew{}
	for i := 0; i <= len(observations); {
		for range random.IntN(4) {
			switch random.IntN(8) {
			case 0:
				now = now.Add(-time.Duration(random.Int64N(int64(time.Second)))) // the clock is set back
			case 1:
				now = now.Add(eventGrace - time.Second)
			case 2:
				skew = skews[random.IntN(len(skews))]
			case 3: // the same instant again
			case 4: // an Event, possibly from the future; most of these Events do not date a milestone
				reason := "Unhealthy"
				if random.IntN(8) == 0 {
					reason = "FailedMount"
				}
				e.Apply(EventSeen{ArrivedAt: now, Reason: reason, Message: "no such disk", FirstAt: now, LastAt: now,
					NamedAt: now.Add(time.Duration(random.Int64N(int64(3 * time.Second))))})
			default:
				now = now.Add(time.Duration(random.Int64N(int64(2 * time.Second))))
			}
			if random.IntN(200) == 0 {
				now = now.Add(giveUpAfter)
			}
			if !e.PodSeen() {
				continue
			}
			if _, ok := e.cached.asOf(at(now), skew); ok {
				again++
			}
			asked++
			got, _ := e.Timeline(now, skew)
			want, _ := e.fold(at(now), skew)
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("%s: after %d observations at %s: cached\n%+v\nfolded\n%+v", name, i, now, got, want)
			}
			for k := range got.Pulls { // changes to the returned timeline must not change the cached timeline
				got.Pulls[k].Outcome, got.Pulls[k].BlockedBy = "changed", &Blocker{}
			}
			for k := range got.Phases {
				got.Phases[k].EndAt = time.Time{}
			}
		}
		for range 1 + random.IntN(3) {
			if i < len(observations) {
				e.Apply(observations[i])
				if arrived := observations[i].Arrived(); arrived.After(now) && random.IntN(4) > 0 {
					now = arrived
				}
			}
			i++
		}
	}
	return asked, again
}

// skews contains proven and unproven skews.
var skews = []Skew{{}, {-time.Second, time.Second}, {-time.Millisecond, 2 * time.Second},
	{time.Millisecond, time.Second}, {-3 * time.Second, -time.Second}}

// TestWaitingPodIsNotFoldedAgain counts allocations, because a fold allocates much more often than the cache.
func TestWaitingPodIsNotFoldedAgain(t *testing.T) {
	s := firstLight(t)
	for i := range s.observations { // apply the first i observations
		e := NewEvidence(s.scope)
		for _, o := range s.observations[:i] {
			e.Apply(o)
		}
		if tl, ok := e.Timeline(s.asOf, s.skew); !ok || tl.State != StateStarting {
			continue
		}
		later := s.asOf
		if allocations := testing.AllocsPerRun(100, func() {
			later = later.Add(time.Millisecond)
			e.Timeline(later, s.skew)
		}); allocations > 2 {
			t.Errorf("after %d observations: %.0f allocations for the same timeline, want at most 2", i,
				allocations)
		}
	}
}

// TestFutureEventIsReportedAtItsTime applies an Event with a timestamp ahead of the agent's clock.
func TestFutureEventIsReportedAtItsTime(t *testing.T) {
	e := NewEvidence(Scope{})
	e.Apply(PodSeen{ArrivedAt: base.Add(time.Second), Live: true, Pod: Pod{UID: "u", CreatedAt: base}})
	e.Apply(EventSeen{UID: "u", ArrivedAt: base.Add(2 * time.Second), Reason: "Unhealthy", Message: "no response",
		FirstAt: base, LastAt: base,
		NamedAt: base.Add(3 * time.Second)})
	for want := range 2 {
		now := base.Add(time.Duration(2+want) * time.Second)
		if tl, _ := e.Timeline(now, Skew{}); len(tl.EventMessage) != want || e.cached == nil {
			t.Errorf("at %s: %d messages, want %d; cached %t", now, len(tl.EventMessage), want, e.cached != nil)
		}
	}
}
