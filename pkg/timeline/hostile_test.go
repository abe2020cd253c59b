package timeline

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// crowded is a pod of as many containers as are kept, of which each has failed as often as is kept.
func crowded() *Evidence {
	pod := Pod{UID: "u", RuntimeUID: "u", CreatedAt: base, AcknowledgedAt: base}
	for i := range maxContainers {
		pod.Containers = append(pod.Containers, Container{Name: fmt.Sprint("c", i), Kind: KindMain, Image: fmt.Sprint("image", i), State: StateWaiting})
	}
	e := NewEvidence(Scope{Runtime: true, Events: true})
	e.Apply(PodSeen{ArrivedAt: base.Add(time.Second), Live: true, Pod: pod})
	for i := range maxContainers {
		for n := range 2 * maxFailures {
			at := base.Add(time.Duration(20*n+i%10) * time.Second)
			o := EventSeen{UID: "u", Container: fmt.Sprint("c", i), NamedAt: at, FirstAt: at, LastAt: at, ArrivedAt: at, Count: 1}
			o.Reason, o.Message = "Pulling", fmt.Sprintf("Pulling image %q", fmt.Sprint("image", i))
			o.Count = n + 1
			e.Apply(o)
			o.Reason, o.Message, o.Count = "Failed", fmt.Sprintf("Failed to pull image %q: no", fmt.Sprint("image", i)), 1
			e.Apply(o)
		}
	}
	return e
}

// BenchmarkFoldCrowded folds the most that one pod can be made to hold.
func BenchmarkFoldCrowded(b *testing.B) {
	e := crowded()
	b.ReportAllocs()
	for b.Loop() {
		e.fold(at(base.Add(time.Hour)), Skew{})
	}
}

// forge makes up Events about a pod, as whoever may create Events in its namespace can: of any time up to their arrival.
func (w *witness) forge(n int) []Observation {
	var forged []Observation
	end := w.now
	begin := w.marks[lifeMark{mark: MarkCreated}]
	for range n {
		c := w.containers[w.random.IntN(len(w.containers))]
		at := begin.Add(time.Duration(w.random.Int64N(int64(end.Sub(begin)))))
		length := time.Duration(w.random.Int64N(int64(40 * time.Second)))
		messages := [...][2]string{
			{"Pulled", fmt.Sprintf("Successfully pulled image %q in %s (%s including waiting). Image size: 5 bytes.", c.Image, length, length+time.Second)},
			{"Pulled", fmt.Sprintf("Container image %q already present on machine", c.Image)},
			{"Pulled", fmt.Sprintf("Successfully pulled image %q in 1s (1s including waiting). Image size: 5 bytes.", "other")},
		}
		message := messages[w.random.IntN(len(messages))]
		arrived := at.Add(time.Duration(w.random.Int64N(int64(5 * time.Second))))
		forged = append(forged, EventSeen{UID: w.pod.UID, Container: c.Name, Reason: message[0], Message: message[1],
			NamedAt: at, FirstAt: at.Truncate(time.Second), LastAt: at.Truncate(time.Second), Count: 1, ArrivedAt: arrived})
	}
	return forged
}

// TestForgedEventsInSimulatedLives holds that Events that say that an image came, made up of any time before the runtime had it, change
// no phase of a pod of which the runtime and kubelet's own Events tell all.
func TestForgedEventsInSimulatedLives(t *testing.T) {
	scope := Scope{Runtime: true, Events: true}
	compared := 0
	for seed := range uint64(400) {
		l := live(rand.New(rand.NewPCG(seed, 11)))
		if !l.endsOnce() {
			continue
		}
		w := &witness{life: l, random: rand.New(rand.NewPCG(seed, 13))}
		honest := w.observe(scope)
		var forged []Observation
		for _, o := range w.forge(14) {
			event := o.(EventSeen)
			for _, c := range l.containers {
				came := l.images[c.Image]
				if c.Name == event.Container && !came.present && len(came.pulled) > 0 && event.NamedAt.Before(came.pulled[0]) {
					forged = append(forged, o)
				}
			}
		}
		if len(forged) == 0 {
			continue
		}
		compared++
		now := l.now.Add(time.Minute)
		want := phasesOf(t, scope, honest, now)
		got := phasesOf(t, scope, append(slices.Clone(honest), forged...), now)
		if got != want {
			t.Fatalf("seed %d: with %d forged Events, of which one is %+v\ngot\n%s\nwant\n%s", seed, len(forged), forged[0], got, want)
		}
	}
	if compared < 100 {
		t.Errorf("only %d lives had a forged Event", compared)
	}
}

func phasesOf(t *testing.T, scope Scope, observations []Observation, now time.Time) (text string) {
	e := NewEvidence(scope)
	for _, o := range observations {
		e.Apply(o)
	}
	tl, ok := e.Timeline(now, Skew{})
	if !ok {
		t.Fatal("no timeline")
	}
	for _, s := range tl.Phases {
		text += fmt.Sprintln(s.Phase, s.MergedWith, s.Container, s.Attempt, s.StartAt, s.EndAt, s.Error)
	}
	return text
}

// BenchmarkAdvanceCrowded is what one more observation of such a pod costs, before anybody wants its timeline.
func BenchmarkAdvanceCrowded(b *testing.B) {
	e := crowded()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		at := base.Add(time.Duration(i) * time.Millisecond)
		e.Apply(EventSeen{UID: "u", Container: "c1", Reason: "Failed", Message: `Failed to pull image "image1": no`, NamedAt: at, FirstAt: at, LastAt: at, ArrivedAt: at, Count: 1})
		now := base.Add(time.Hour)
		if !e.Settled(now) {
			e.Wants(now)
		}
	}
}
