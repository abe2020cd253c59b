package timeline

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"
)

// TestSimulatedClockSet sets the clock of the node while simulated pods start. The total must stay true.
func TestSimulatedClockSet(t *testing.T) {
	for _, s := range slices.Concat(sourceSets, weakSets) {
		t.Run(s.name, func(t *testing.T) {
			for seed := *fromSeed; seed < *fromSeed+s.podCount(); seed++ {
				checkClockSet(t, s, seed)
				if t.Failed() {
					t.FailNow()
				}
			}
		})
	}
}

// checkClockSet sets the clock between the binding of one simulated pod and the end of its start-up. Either the old or
// the new time of the node agrees with the control plane's clock.
func checkClockSet(t *testing.T, s sourceSet, seed uint64) {
	l := simulate(rand.New(rand.NewPCG(seed, 11)))
	random := rand.New(rand.NewPCG(seed, 13))
	w := &simulatedSources{simulatedPod: l, random: random, loss: s.loss(random)}
	reached := l.milestones[trueMilestone{milestone: MilestoneScheduled}]
	if reached.IsZero() { // the pod's creator set the node
		reached = l.milestones[trueMilestone{milestone: MilestoneCreated}]
	}
	since := reached.Truncate(time.Second).Add(time.Duration(1+random.IntN(20)) * time.Second)
	by := time.Duration(random.IntN(240)-120) * time.Second
	if !l.endsOnce() || by == 0 || !since.Before(l.milestones[trueMilestone{milestone: MilestoneReady}]) {
		return
	}
	controlPlane := time.Duration(0)
	if random.IntN(2) == 0 {
		controlPlane = by
	}
	e := NewEvidence(s.scope)
	e.Apply(ClockSet{ArrivedAt: since.Add(by), By: by})
	last := l.now
	var moved []Observation
	for _, o := range w.observe(s.scope) {
		if o.Arrived().After(last) {
			last = o.Arrived()
		}
		moved = append(moved, withClockSet(t, o, since, by, controlPlane))
		e.Apply(moved[len(moved)-1])
	}
	last = last.Add(20 * time.Second)
	got, ok := e.Timeline(last.Add(by), Skew{})
	if !ok {
		return
	}
	checkPartition(t, got)
	p := &propertyCheck{simulatedPod: l, got: got, now: last}
	breaches := p.check()
	for _, property := range []property{totalHeld, noOvercharge, noCauseOvercharge, outcomeTrue} {
		if breach := breaches[property]; breach != "" {
			t.Errorf("seed %d, clock set by %s at %s: %s\n%s%s", seed, by, sinceBase(since), breach,
				p.describePhases(), writeScript(s.scope, &l.pod, moved))
		}
	}
	if !got.ClockWasSet() || len(got.Phases) > 1 {
		t.Errorf("seed %d: missing %v, %d phases", seed, got.Missing, len(got.Phases))
	}
}

// withClockSet returns a copy of an observation in which the node's clock was set at the time "since". All times of the
// control plane's clock are later by the duration controlPlane.
func withClockSet(t *testing.T, o Observation, since time.Time, by, controlPlane time.Duration) Observation {
	t.Helper()
	text, err := json.Marshal(o)
	moved := reflect.New(reflect.TypeOf(o))
	if err == nil {
		err = json.Unmarshal(text, moved.Interface())
	}
	if err != nil {
		t.Fatal(err)
	}
	moveTimes(moved.Elem(), func(at time.Time, ofControlPlane bool) time.Time {
		switch {
		case at.IsZero():
			return at
		case ofControlPlane:
			return at.Add(controlPlane)
		case at.Before(since):
			return at
		}
		return at.Add(by)
	})
	return moved.Elem().Interface().(Observation)
}

// moveTimes replaces all times in a value.
func moveTimes(v reflect.Value, move func(at time.Time, ofControlPlane bool) time.Time) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			moveTimes(v.Elem(), move)
		}
	case reflect.Slice:
		for i := range v.Len() {
			moveTimes(v.Index(i), move)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			at, ok := v.Field(i).Interface().(time.Time)
			if !ok {
				moveTimes(v.Field(i), move)
				continue
			}
			v.Field(i).Set(reflect.ValueOf(move(at, isOfControlPlane(v.Interface(), v.Type().Field(i).Name))))
		}
	}
}

// isOfControlPlane reports whether a field of an observation contains a time of the control plane's clock.
func isOfControlPlane(of any, field string) bool {
	switch of := of.(type) {
	case Pod:
		return slices.Contains([]string{"CreatedAt", "UnschedulableAt", "DeletedAt", "FailedBy"}, field) &&
			of.ReadAt.IsZero()
	case Condition:
		return of.Type == "PodScheduled"
	case EventSeen:
		return field == "StoredAt"
	}
	return false
}
