package timeline

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// terminationTruth is the true termination of a simulated pod with one container, on one clock.
type terminationTruth struct {
	requested, begun, finished, down, gone time.Time
	killed                                 bool
	again                                  time.Time // the second request to stop, by a restarted kubelet; or begun
	// network is the time that the network plugin took. networkFirst is true if the runtime calls the plugin before the
	// sandbox stops.
	network      time.Duration
	networkFirst bool
}

func randomTermination(random *rand.Rand, grace time.Duration) terminationTruth {
	some := func(most time.Duration) time.Duration { return time.Duration(random.Int64N(int64(most))) }
	var e terminationTruth
	e.requested = base.Add(10*time.Second + some(3*time.Second))
	e.begun = e.requested.Add(some(700 * time.Millisecond))
	e.again = e.begun
	if random.IntN(4) == 0 { // the kubelet restarts within the grace period
		e.again = e.begun.Add(1500*time.Millisecond + some(2*grace))
	}
	if e.killed = random.IntN(2) == 0; e.killed {
		e.finished = e.again.Add(grace + some(50*time.Millisecond))
	} else {
		e.finished = e.again.Add(some(grace))
	}
	e.down = e.finished.Add(some(300 * time.Millisecond))
	e.gone = e.down.Add(some(2 * time.Second))
	e.network, e.networkFirst = some(300*time.Millisecond), random.IntN(2) == 0
	if random.IntN(4) == 0 {
		e.network = some(time.Minute)
	}
	e.gone = e.gone.Add(e.network)
	if e.networkFirst {
		e.down = e.down.Add(e.network)
	}
	return e
}

// observations returns the observations of an agent. Each source can be missing, and observations arrive a
// moment late. The agent queries the runtime at intervals.
func (e terminationTruth) observations(random *rand.Rand, grace time.Duration) (all []Observation) {
	late := func(at time.Time) time.Time {
		return at.Add(time.Duration(random.Int64N(int64(40 * time.Millisecond))))
	}
	pod := Pod{
		UID: "uid-1", Name: "pod", Namespace: "ns", CreatedAt: base, DeletedAt: e.requested.Truncate(time.Second),
		DeletionGrace: grace,
		Containers: []Container{{Name: "app", Kind: KindMain, State: StateRunning,
			StartedAt: base.Add(time.Second)}},
	}
	all = append(all, PodSeen{ArrivedAt: late(e.requested), Live: random.IntN(5) > 0, Pod: pod})
	if random.IntN(2) == 0 {
		pod.DeletionObserved = true
		all = append(all, PodSeen{ArrivedAt: late(e.begun), Live: true, Pod: pod})
	}
	if random.IntN(3) == 0 {
		named := e.begun.Add(time.Duration(random.Int64N(int64(eventSlack))))
		all = append(all, EventSeen{UID: "uid-1", ArrivedAt: late(named), Live: true, Container: "app",
			Reason: "Killing", NamedAt: named, Count: 1})
		if e.again != e.begun {
			all = append(all, EventSeen{UID: "uid-1", ArrivedAt: late(e.again), Live: true, Container: "app",
				Reason: "Killing", NamedAt: e.again, Count: 1})
		}
	}
	code := 0
	if e.killed {
		code = codeKilled
	}
	runtime := random.IntN(3) > 0
	for queried := e.requested; runtime &&
		queried.Before(e.gone); queried = queried.Add(time.Duration(1 + random.Int64N(int64(3*time.Second)))) {
		o := RuntimeSeen{UID: "uid-1", QueriedAt: queried, ArrivedAt: late(queried)}
		run := ContainerRun{Name: "app", StartedAt: base.Add(time.Second)}
		if !queried.Before(e.finished) {
			run.FinishedAt, run.ExitCode = e.finished, code
		}
		o.Containers = append(o.Containers, run)
		o.Sandboxes = append(o.Sandboxes, Sandbox{ID: "s", Ready: queried.Before(e.down), Unstamped: e.networkFirst})
		all = append(all, o)
	}
	if random.IntN(2) == 0 {
		pod.Containers = []Container{pod.Containers[0]}
		pod.Containers[0].State, pod.Containers[0].FinishedAt = StateTerminated, e.finished.Truncate(time.Second)
		pod.Containers[0].ExitCode = code
		all = append(all, PodSeen{ArrivedAt: late(e.down), Live: true, Pod: pod})
	}
	return append(all, PodGone{UID: "uid-1", ArrivedAt: late(e.gone), Live: random.IntN(5) > 0})
}

// TestTerminationErrorsContainTruth simulates terminations and compares every duration with the truth.
func TestTerminationErrorsContainTruth(t *testing.T) {
	const grace = 30 * time.Second
	random := rand.New(rand.NewPCG(1, 2))
	var named, timed int
	for n := range 5000 {
		truth := randomTermination(random, grace)
		var e *TerminationEvidence
		observations := truth.observations(random, grace)
		for _, o := range observations {
			if e == nil {
				e = NewTerminationEvidence(o)
			}
			e.Apply(o)
			checkEnd(t, e.Termination(truth.gone.Add(time.Second), Skew{}))
		}
		end := e.Termination(truth.gone.Add(time.Minute), Skew{})
		within := func(what string, got, want, bound time.Duration) {
			if off := (got - want).Abs(); off > bound {
				t.Errorf("end %d: %s is %s ±%s, was %s; %+v of %+v", n, what, got, bound, want, end, observations)
			}
		}
		within("total", end.Total, truth.gone.Sub(truth.requested), end.TotalError)
		for _, s := range end.Stops {
			if s.Timed {
				timed++
				within("grace used", s.Used, truth.finished.Sub(truth.begun), s.Error)
			}
			if truth.killed != (s.How == StopKilled) && s.How != StopUnknown && s.How != StopExited {
				t.Errorf("end %d: %s, killed %v", n, s.How, truth.killed)
			}
		}
		sandbox, object := truth.down.Sub(truth.finished), truth.gone.Sub(truth.down)
		if truth.networkFirst {
			sandbox -= truth.network
		} else {
			object -= truth.network
		}
		if truth.network > 10*time.Second && !slices.ContainsFunc(end.Phases, func(p Span) bool {
			return slices.Contains(p.MergedWith, PhaseNetwork)
		}) {
			t.Errorf("end %d: the network plugin took %s but is no candidate: %+v of %+v", n, truth.network, end,
				observations)
		}
		for _, p := range end.Phases {
			if len(p.MergedWith) > 0 {
				continue
			}
			named++
			due := truth.again.Add(grace)
			switch p.Phase {
			case PhaseKubeletPickup:
				within("pickup", p.Duration(), truth.begun.Sub(truth.requested), p.Error)
			case PhaseGrace:
				if truth.killed {
					within("grace", p.Duration(), grace, p.Error)
				} else {
					within("grace", p.Duration(), truth.finished.Sub(truth.begun), p.Error)
				}
			case PhaseKill:
				within("kill", p.Duration(), truth.finished.Sub(due), p.Error)
			case PhaseSandboxStop:
				within("sandbox", p.Duration(), sandbox, p.Error)
			case PhaseObjectDeletion:
				within("object", p.Duration(), object, p.Error)
			}
		}
		if t.Failed() && n > 20 {
			break
		}
	}
	if named < 5000 || timed < 2000 {
		t.Errorf("only %d phases of one name, %d stops with a length: the test proves little", named, timed)
	}
}
