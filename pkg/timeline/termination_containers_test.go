package timeline

import (
	"math/rand/v2"
	"testing"
	"time"
)

// containersTruth is the true termination of a simulated pod with several containers, on one clock.
type containersTruth struct {
	requested, begun, mainsOver, over, down, gone time.Time
	again                                         time.Time // the last request to stop: begun, or after a restart
	members                                       []containerTruth
}

type containerTruth struct {
	Container
	never    bool // the container never starts, because its image cannot be pulled
	finished time.Time
	code     int
}

func randomContainers(random *rand.Rand, grace time.Duration) (f containersTruth) {
	some := func(most time.Duration) time.Duration { return time.Duration(random.Int64N(int64(most))) }
	f.requested = base.Add(10*time.Second + some(3*time.Second))
	f.begun = f.requested.Add(some(700 * time.Millisecond))
	if random.IntN(6) == 0 { // the kubelet is busy or stopped
		f.begun = f.requested.Add(some(20 * time.Second))
	}
	f.again = f.begun
	if random.IntN(5) == 0 { // the kubelet restarts within the grace period
		f.again = f.begun.Add(1500*time.Millisecond + some(3*grace))
	}
	f.mainsOver = f.again
	running := Container{Kind: KindMain, State: StateRunning, StartedAt: base.Add(time.Second)}
	for i := range 1 + random.IntN(3) {
		m := containerTruth{Container: running, finished: f.again.Add(some(grace))}
		m.Name = string(rune('a' + i))
		switch random.IntN(4) {
		case 0:
			m.finished, m.code = f.again.Add(grace+some(50*time.Millisecond)), codeKilled
		case 1:
			m.PreStopHook = true
		case 2:
			if i > 0 {
				m.never, m.State, m.StartedAt, m.finished = true, StateWaiting, time.Time{}, time.Time{}
			}
		}
		if m.finished.After(f.mainsOver) {
			f.mainsOver = m.finished
		}
		f.members = append(f.members, m)
	}
	f.over = f.mainsOver
	if random.IntN(3) == 0 {
		m := containerTruth{Container: running, finished: f.mainsOver.Add(some(2 * time.Second))}
		m.Name, m.Kind = "proxy", KindSidecar
		if random.IntN(3) == 0 { // killed after the remaining grace period in seconds
			left := max(grace-f.mainsOver.Sub(f.again).Truncate(time.Second), leastGrace)
			m.finished, m.code = f.mainsOver.Add(left+some(50*time.Millisecond)), codeKilled
		}
		f.members, f.over = append(f.members, m), m.finished
	}
	f.down = f.over.Add(some(300 * time.Millisecond))
	f.gone = f.down.Add(some(2 * time.Second))
	return f
}

// statuses returns the kubelet's status of the containers. In the kubelet's last status, the containers that
// never started are terminated with the reason ContainerStatusUnknown.
func (f containersTruth) statuses(at time.Time, last bool) (all []Container) {
	for _, m := range f.members {
		c := m.Container
		switch {
		case m.never && last:
			c.State, c.ExitCode, c.EndReason = StateTerminated, codeKilled, "ContainerStatusUnknown"
		case !m.never && !m.finished.After(at):
			c.State, c.FinishedAt, c.ExitCode = StateTerminated, m.finished.Truncate(time.Second), m.code
		}
		all = append(all, c)
	}
	return all
}

// observations returns the observations of an agent. Each source can be missing, and observations arrive a
// moment late. The agent queries the runtime at intervals.
func (f containersTruth) observations(random *rand.Rand, grace time.Duration) (all []Observation) {
	some := func(most time.Duration) time.Duration { return time.Duration(random.Int64N(int64(most))) }
	late := func(at time.Time) time.Time { return at.Add(some(40 * time.Millisecond)) }
	pod := Pod{UID: "uid-1", CreatedAt: base, DeletedAt: f.requested.Truncate(time.Second), DeletionGrace: grace}
	see := func(at time.Time, live, last bool) {
		pod.Containers = f.statuses(at, last)
		all = append(all, PodSeen{ArrivedAt: late(at), Live: live, Pod: pod})
	}
	see(f.requested, random.IntN(5) > 0, false)
	if random.IntN(2) == 0 {
		pod.DeletionObserved = true
		see(f.begun, true, false)
	}
	if random.IntN(4) == 0 {
		named := f.begun.Add(some(time.Duration(eventSlack)))
		all = append(all, EventSeen{UID: "uid-1", ArrivedAt: late(named), Live: true, Container: "a", Reason: "Killing",
			NamedAt: named, Count: 1})
	}
	runtime := random.IntN(3) > 0
	for queried := f.requested; runtime && queried.Before(f.gone); queried = queried.Add(1 + some(3*time.Second)) {
		o := RuntimeSeen{UID: "uid-1", QueriedAt: queried, ArrivedAt: late(queried),
			Sandboxes: []Sandbox{{ID: "s", Ready: queried.Before(f.down)}}}
		for _, m := range f.members {
			run := ContainerRun{Name: m.Name, StartedAt: m.StartedAt}
			if !queried.Before(m.finished) {
				run.FinishedAt, run.ExitCode = m.finished, m.code
			}
			if !m.never {
				o.Containers = append(o.Containers, run)
			}
		}
		all = append(all, o)
	}
	if random.IntN(2) == 0 {
		see(f.begun.Add(some(f.gone.Sub(f.begun)+1)), true, false)
	}
	if random.IntN(3) > 0 {
		see(f.down, true, true)
	}
	return append(all, PodGone{UID: "uid-1", ArrivedAt: late(f.gone), Live: random.IntN(5) > 0})
}

// TestContainerTerminationErrorsContainTruth simulates terminations of pods with several containers. The test compares
// every duration, and the way in which each container ended, with the truth.
func TestContainerTerminationErrorsContainTruth(t *testing.T) {
	const grace = 10 * time.Second
	random := rand.New(rand.NewPCG(7, 8))
	named, timed := 0, 0
	for n := range 5000 {
		truth := randomContainers(random, grace)
		observations := truth.observations(random, grace)
		end := terminationOf(observations).Termination(truth.gone.Add(time.Minute), Skew{})
		checkEnd(t, end)
		within := func(what string, got, want, bound time.Duration) {
			if off := (got - want).Abs(); off > bound {
				t.Errorf("end %d: %s is %s ±%s, was %s; %+v of %+v", n, what, got, bound, want, end, truth)
			}
		}
		within("total", end.Total, truth.gone.Sub(truth.requested), end.TotalError)
		members := map[string]containerTruth{}
		for _, m := range truth.members {
			members[m.Name] = m
		}
		for _, s := range end.Stops {
			m := members[s.Container]
			want := StopExited
			if m.code == codeKilled {
				want = StopKilled
			}
			if m.never || s.How != want && s.How != StopUnknown {
				t.Errorf("end %d: %s is reported as %s, was %+v; %+v", n, s.Container, s.How, m, observations)
			}
			if s.Timed {
				timed++
				within("used of "+s.Container, s.Used, m.finished.Sub(truth.begun), s.Error)
			}
		}
		for _, p := range end.Phases {
			if len(p.MergedWith) > 0 {
				continue
			}
			named++
			m := members[p.Container]
			switch p.Phase {
			case PhaseKubeletPickup:
				within("pickup", p.Duration(), truth.begun.Sub(truth.requested), p.Error)
			case PhaseKill:
				within("kill", p.Duration(), m.finished.Sub(truth.again.Add(grace)), p.Error)
			case PhaseSandboxStop:
				within("sandbox", p.Duration(), truth.down.Sub(truth.over), p.Error)
			case PhaseObjectDeletion:
				within("object", p.Duration(), truth.gone.Sub(truth.down), p.Error)
			case PhaseGrace:
				switch {
				case m.Kind == KindSidecar:
					within("grace of the sidecar", p.Duration(), m.finished.Sub(truth.mainsOver), p.Error)
				case m.code == 0:
					within("grace", p.Duration(), m.finished.Sub(truth.begun), p.Error)
				default:
					within("grace of a killed one", p.Duration(), grace, p.Error)
				}
			}
		}
		if t.Failed() {
			break
		}
	}
	if named < 5000 || timed < 5000 {
		t.Errorf("only %d phases of one name, %d stops with a length: the test proves little", named, timed)
	}
}
