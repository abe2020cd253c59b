package timeline

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// fullEvidence returns the evidence of a pod with many containers. Each container has the maximum number of kept
// failures.
func fullEvidence(containers int) *Evidence {
	pod := Pod{UID: "u", RuntimeUID: "u", CreatedAt: base, AcknowledgedAt: base}
	for i := range containers {
		pod.Containers = append(
			pod.Containers,
			Container{Name: fmt.Sprint("c", i), Kind: KindMain, Image: fmt.Sprint("image", i), State: StateWaiting},
		)
	}
	e := NewEvidence(Scope{Runtime: true, Events: true})
	e.Apply(PodSeen{ArrivedAt: base.Add(time.Second), Live: true, Pod: pod})
	for i := range containers {
		for n := range 2 * maxFailures {
			at := base.Add(time.Duration(20*n+i%10) * time.Second)
			o := EventSeen{UID: "u", Container: fmt.Sprint("c", i), NamedAt: at, FirstAt: at, LastAt: at, ArrivedAt: at,
				Count: 1}
			o.Reason, o.Message = "Pulling", fmt.Sprintf("Pulling image %q", fmt.Sprint("image", i))
			o.Count = n + 1
			e.Apply(o)
			o.Reason, o.Message, o.Count = "Failed", fmt.Sprintf("Failed to pull image %q: no", fmt.Sprint("image", i)),
				1
			e.Apply(o)
		}
	}
	return e
}

// BenchmarkFoldCrowded folds the largest evidence that one pod can have.
func BenchmarkFoldCrowded(b *testing.B) {
	e := fullEvidence(maxContainers)
	b.ReportAllocs()
	for b.Loop() {
		e.fold(at(base.Add(time.Hour)), Skew{})
	}
}

// forge invents n Events about a pod, with random times before their arrival. Anyone who can create Events in the pod's
// namespace can create the same Events.
func (w *simulatedSources) forge(n int) []Observation {
	var forged []Observation
	end := w.now
	begin := w.milestones[trueMilestone{milestone: MilestoneCreated}]
	for range n {
		c := w.containers[w.random.IntN(len(w.containers))]
		at := begin.Add(time.Duration(w.random.Int64N(int64(end.Sub(begin)))))
		length := time.Duration(w.random.Int64N(int64(40 * time.Second)))
		messages := [...][2]string{
			{"Pulled", fmt.Sprintf("Successfully pulled image %q in %s (%s including waiting). Image size: 5 bytes.",
				c.Image, length, length+time.Second)},
			{"Pulled", fmt.Sprintf("Container image %q already present on machine", c.Image)},
			{"Pulled", fmt.Sprintf("Successfully pulled image %q in 1s (1s including waiting). Image size: 5 bytes.",
				"other")},
		}
		message := messages[w.random.IntN(len(messages))]
		arrived := at.Add(time.Duration(w.random.Int64N(int64(5 * time.Second))))
		forged = append(forged, EventSeen{UID: w.pod.UID, Container: c.Name, Reason: message[0], Message: message[1],
			NamedAt: at, FirstAt: at.Truncate(time.Second), LastAt: at.Truncate(time.Second), Count: 1,
			ArrivedAt: arrived})
	}
	return forged
}

// TestForgedPullsInSimulatedPods checks forged Events that report a pulled image before the runtime had the image. The
// forged Events must not change a phase of a pod that the runtime and the kubelet's own Events report completely.
func TestForgedPullsInSimulatedPods(t *testing.T) {
	scope := Scope{Runtime: true, Events: true}
	compared := 0
	for seed := range uint64(400) {
		l := simulate(rand.New(rand.NewPCG(seed, 11)))
		if !l.endsOnce() {
			continue
		}
		w := &simulatedSources{simulatedPod: l, random: rand.New(rand.NewPCG(seed, 13))}
		honest := w.observe(scope)
		var forged []Observation
		for _, o := range w.forge(14) {
			event := o.(EventSeen)
			for _, c := range l.containers {
				came := l.images[c.Image]
				if c.Name == event.Container && !came.present && len(came.pulled) > 0 &&
					event.NamedAt.Before(came.pulled[0]) {
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
			t.Fatalf("seed %d: with %d forged Events, of which one is %+v\ngot\n%s\nwant\n%s", seed, len(forged),
				forged[0], got, want)
		}
	}
	if compared < 100 {
		t.Errorf("only %d pods had a forged Event", compared)
	}
}

// anyForgeries are Events of every kind that the agent reads. The messages contain placeholders for a container's image
// and name.
var anyForgeries = []struct{ reason, message string }{
	{"Pulling", "Pulling image %[1]q"},
	{"Pulled", "Successfully pulled image %[1]q in 1.5s (2s including waiting). Image size: 5 bytes."},
	{"Pulled", "Container image %[1]q already present on machine"},
	{"Failed", "Failed to pull image %[1]q: no"},
	{"Failed", `Error: configmap "x" not found`},
	{"InspectFailed", "Failed to inspect image %[1]q: no"},
	{"BackOff", "Back-off pulling image %[1]q"},
	{"Created", "Created container: %[2]s"},
	{"Started", "Started container %[2]s"},
	{"Killing", "Stopping container %[2]s"},
	{"FailedMount", `MountVolume.SetUp failed for volume "m" : driver timed out`},
	{"NetworkNotReady", "network is not ready: container runtime network not ready: m"},
	{"FailedCreatePodSandBox", "Failed to create pod sandbox: rpc error: failed to setup network for sandbox: no"},
	{"FailedCreatePodContainer", "unable to ensure pod container exists: no"},
	{"FailedPrepareDynamicResources", "Failed to prepare dynamic resources: no"},
}

// forgeAny invents an Event of the given kind, at a time when the runtime shows the kubelet's current work. If the
// runtime does not show the kubelet's work at the chosen time, ok is false.
func (w *simulatedSources) forgeAny(forgery struct{ reason, message string }) (o EventSeen, ok bool) {
	c := w.containers[w.random.IntN(len(w.containers))]
	ran := w.milestones[trueMilestone{milestone: MilestoneSandboxRunning}]
	from := ran
	if !slices.Contains([]string{"FailedMount", "NetworkNotReady", "FailedCreatePodSandBox", "FailedCreatePodContainer",
		"FailedPrepareDynamicResources"}, forgery.reason) {
		from = w.milestones[trueMilestone{milestone: MilestoneCreated}]
	}
	if !from.Before(w.now) {
		return o, false
	}
	named := from.Add(time.Duration(w.random.Int64N(int64(w.now.Sub(from)))))
	o = EventSeen{UID: w.pod.UID, Reason: forgery.reason,
		Message: fmt.Sprintf(forgery.message+"%.0[1]s%.0[2]s", c.Image, c.Name), NamedAt: named,
		FirstAt: named.Truncate(time.Second), LastAt: named.Truncate(time.Second), Count: 1,
		ArrivedAt: named.Add(time.Duration(w.random.Int64N(int64(time.Second))))}
	if from != ran {
		o.Container = c.Name
	}
	amid := func(from, to time.Time) bool {
		return named.After(from.Add(-2*time.Duration(eventSlack))) && named.Before(to.Add(2*time.Duration(eventSlack)))
	}
	// Until the kubelet creates a container, only Events report the kubelet's work on the container. Before the first
	// creation, only Events show on which main container the kubelet works. Only the pod's status reports a startup
	// probe.
	for _, other := range w.containers {
		turned := slices.IndexFunc(w.truth, func(s stretch) bool { return s.container == other.Name })
		if (other == c || other.Kind == KindMain) &&
			amid(w.truth[turned].start, w.milestones[trueMilestone{MilestoneContainerCreated, other.Name, 0}]) {
			return o, false
		}
	}
	for _, s := range w.truth {
		if s.phase == PhaseStartupProbe && amid(s.start, s.end) {
			return o, false
		}
	}
	return o, true
}

// TestForgedEventsInSimulatedPods checks forged Events of any kind while the runtime shows the kubelet's work. The
// timeline must not give a party more time than the party's true time plus the error bounds.
func TestForgedEventsInSimulatedPods(t *testing.T) {
	scope := Scope{Runtime: true, Events: true}
	forged := map[string]int{}
	for seed := range uint64(1500) {
		l := simulate(rand.New(rand.NewPCG(seed, 11)))
		if !l.endsOnce() || !l.stamped {
			continue
		}
		w := &simulatedSources{simulatedPod: l, random: rand.New(rand.NewPCG(seed, 14))}
		honest := w.observe(scope)
		all := slices.Clone(honest)
		for range 8 {
			forgery := anyForgeries[w.random.IntN(len(anyForgeries))]
			if o, ok := w.forgeAny(forgery); ok {
				forged[forgery.reason]++
				all = append(all, o)
			}
		}
		check := func(observations []Observation) (map[property]string, string) {
			e := NewEvidence(scope)
			for _, o := range observations {
				e.Apply(o)
			}
			got, _ := e.Timeline(l.now.Add(time.Minute), Skew{})
			p := &propertyCheck{simulatedPod: l, got: got, complete: true, now: l.now.Add(time.Minute)}
			return p.check(), p.describePhases()
		}
		before, _ := check(honest)
		after, summary := check(all)
		for _, p := range []property{noOvercharge, noCauseOvercharge} {
			if after[p] != "" && before[p] == "" {
				t.Fatalf("seed %d: %s: %s\n%s%+v", seed, p, after[p], summary, all[len(honest):])
			}
		}
	}
	for _, forgery := range anyForgeries {
		if forged[forgery.reason] < 50 {
			t.Errorf("only %d forged Events %s: the test proves nothing", forged[forgery.reason], forgery.reason)
		}
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

// BenchmarkAdvanceCrowded measures one more observation of a pod with the maximum number of containers, and the
// requests for missing evidence. The benchmark does not request a timeline.
func BenchmarkAdvanceCrowded(b *testing.B) {
	e := fullEvidence(maxContainers)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		at := base.Add(time.Duration(i) * time.Millisecond)
		e.Apply(EventSeen{UID: "u", Container: "c1", Reason: "Failed", Message: `Failed to pull image "image1": no`,
			NamedAt: at, FirstAt: at, LastAt: at, ArrivedAt: at, Count: 1})
		now := base.Add(time.Hour)
		if !e.Settled(now) {
			e.Requests(now)
		}
	}
}
