package timeline

import (
	"testing"
	"time"
)

// TestClockSetBackHidesNoMissedEvents sets the agent's clock back between observations about Event watches.
func TestClockSetBackHidesNoMissedEvents(t *testing.T) {
	second := func(n int) time.Time { return base.Add(time.Duration(n) * time.Second) }
	const minute = 60
	for name, test := range map[string]struct {
		observations []Observation
		by           instant // time of a milestone
		open         bool    // a watch is open at the end
		until        instant // end of the time with missed Events before the latest watch
	}{
		"the watch is lost": {
			observations: []Observation{
				EventsWatched{OpenedAt: second(minute), Order: 1},
				EventsLost{ArrivedAt: second(10), Order: 2},
			},
			by: at(second(5)), // the milestone can be later than the loss
		},
		"a second watch opens with a gap": {
			observations: []Observation{
				EventsWatched{OpenedAt: second(minute), Order: 1},
				EventsLost{ArrivedAt: second(minute + 1), Order: 2},
				EventsWatched{OpenedAt: second(10), Since: second(10), Order: 3},
			},
			by: at(second(2 * minute)), open: true, until: at(second(10)),
		},
		"the second watch is lost": {
			observations: []Observation{
				EventsWatched{OpenedAt: second(minute), Order: 1},
				EventsLost{ArrivedAt: second(minute + 1), Order: 2},
				EventsWatched{OpenedAt: second(10), Order: 3},
				EventsLost{ArrivedAt: second(20), Order: 4},
			},
			by: at(second(30)),
		},
	} {
		t.Run(name, func(t *testing.T) {
			forEachOrder(test.observations, func(observations []Observation) {
				e := NewEvidence(Scope{Events: true})
				for _, o := range observations {
					e.Apply(o)
				}
				if got := !e.mayHaveMissedEvents(test.by); got != test.open {
					t.Errorf("%+v: the pod is watched: %t, want %t", observations, got, test.open)
				}
				if got := e.watchLastOpened.isAfter(e.watchLost); got != test.open {
					t.Errorf("%+v: lost Events are proven: %t, want %t", observations, got, test.open)
				}
				if got := e.eventsMissedUntil(); got != test.until {
					t.Errorf("%+v: missed Events until %v, want %v", observations, got, test.until)
				}
			})
		})
	}
}

// forEachOrder calls f with every order of the observations.
func forEachOrder(observations []Observation, f func([]Observation)) {
	var permute func(done, left []Observation)
	permute = func(done, left []Observation) {
		if len(left) == 0 {
			f(done)
			return
		}
		for i, o := range left {
			rest := append(append([]Observation{}, left[:i]...), left[i+1:]...)
			permute(append(append([]Observation{}, done...), o), rest)
		}
	}
	permute(nil, observations)
}
