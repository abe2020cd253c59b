package timeline

import (
	"reflect"
	"testing"
	"time"
)

// TestOnlyChangesMatter compares two evidences for every script and for random observations. The first evidence
// receives all observations. The second evidence receives only the observations that changed the first evidence, and
// the latest pod object. Only these observations survive a restart of the agent.
func TestOnlyChangesMatter(t *testing.T) {
	check := func(name string, scope Scope, observations []Observation, now time.Time) {
		t.Helper()
		all, some := NewEvidence(scope), NewEvidence(scope)
		var latest *PodSeen
		for _, o := range observations {
			if seen, ok := o.(PodSeen); ok && (latest == nil || seen.ArrivedAt.After(latest.ArrivedAt)) {
				latest = &seen
			}
			if all.Apply(o) {
				some.Apply(o)
			}
			if all.Apply(o) {
				t.Errorf("%s: the same observation changes the evidence twice: %+v", name, o)
			}
		}
		if latest != nil {
			some.Apply(*latest)
		}
		want, _ := all.Timeline(now, Skew{})
		if got, _ := some.Timeline(now, Skew{}); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: the changes alone fold to\n%+v\nwant\n%+v", name, got, want)
		}
	}
	for _, s := range Scripts(t) {
		check(s.Name, s.Scope, s.Observations, s.AsOf)
	}
	for seed := range uint64(3000) {
		check("nonsense", Scope{Runtime: true, Events: true}, RandomObservations(seed), base.Add(100*time.Second))
	}
}

// TestOldStartUpIsNotGivenUpBeforeItIsSeenAfterRestart checks an old start-up after a restart of the agent. The agent
// must wait for the pod's current status, because the pod can be ready by now.
func TestOldStartUpIsNotGivenUpBeforeItIsSeenAfterRestart(t *testing.T) {
	resumed := base.Add(2 * giveUpAfter)
	e := NewEvidence(Scope{ResumedAt: resumed})
	e.Apply(PodSeen{ArrivedAt: base, Live: true, Pod: Pod{UID: "u", CreatedAt: base}})
	if e.Settled(resumed.Add(time.Second)) || !e.Settled(resumed.Add(eventGrace)) {
		t.Error("the start-up is given up immediately, or never")
	}
}

// TestLateEvidenceIsAwaitedAfterRestart checks a pod whose start-up was over when the agent stopped. The pod must not
// settle before the next agent process has had time to request evidence.
func TestLateEvidenceIsAwaitedAfterRestart(t *testing.T) {
	over := PodSeen{ArrivedAt: base.Add(2 * time.Second), Live: true,
		Pod: Pod{UID: "u", CreatedAt: base, Conditions: []Condition{
			{"Ready", true, base.Add(2 * time.Second)}},
			Containers: []Container{{Name: "app", Kind: KindMain, Image: "image"}}}}
	resumed := base.Add(time.Minute)
	for scope, want := range map[Scope]bool{
		{Runtime: true}:                     true,
		{Runtime: true, ResumedAt: resumed}: false,
	} {
		e := NewEvidence(scope)
		e.Apply(over)
		if got := e.Settled(resumed.Add(time.Second)); got != want {
			t.Errorf("%+v: settled %t a second after the restart", scope, got)
		}
		if !e.Settled(resumed.Add(runtimeGrace + time.Second)) {
			t.Errorf("%+v: never settles", scope)
		}
	}
}
