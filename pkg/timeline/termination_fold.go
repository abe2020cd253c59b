package timeline

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// terminationStep is one step of a termination: what ends it, and what it is until then.
type terminationStep struct {
	phase     Phase
	also      []Phase // what cannot be told apart from it within the step, charged to the same
	container string
	end       bound
	known     bool // there is evidence for the end
	mark      string
}

// Termination folds the evidence as of now. Skew is as of Timeline.
func (e *Ending) Termination(now time.Time, skew Skew) Termination {
	f := terminationFold{Ending: e, now: at(now), skew: skew}
	f.t = Termination{Grace: e.grace, Hurried: e.grace == 0 && e.releasedAt != 0, Reason: e.pod.Disruption, Skew: skew, Listed: !e.learnedLive}
	f.requested = f.request()
	f.gone = f.objectGone()
	f.begun, f.begunKnown = f.stopBegun()
	f.stopContainers()
	f.partition(f.steps())
	return f.t
}

type terminationFold struct {
	*Ending
	now  instant
	skew Skew
	t    Termination

	requested, begun, gone bound
	begunKnown             bool
	stopped                []stopBound // those that stopped, or still run, after the request; in spec order
}

// stopBound is when a container stopped.
type stopBound struct {
	bound
	known bool
	index int // in Termination.Stops
}

func (f *terminationFold) conflict(mark, container, detail string) {
	f.t.Conflicts = append(f.t.Conflicts, EndConflict{mark, container, detail})
}

// request is when deletion was asked for: in the second that the control plane stamped, and before the news of it came.
func (f *terminationFold) request() bound {
	b := boundOf(f.skew.widen(second(markKey{container: podWide, mark: MarkDeleted}, originControlPlane, f.requestSecond.time())))
	if f.learnedAt < b.earliest {
		f.conflict("deletion_requested", "", fmt.Sprintf("%s says %s or later, %s %s or earlier",
			originControlPlane, clockText(b.earliest), originArrival, clockText(f.learnedAt)))
		b.earliest = f.created
		if f.learnedLive {
			b.earliest = f.learnedAt - liveSlack
		}
		b.earliest, b.latest = min(b.earliest, f.learnedAt), f.learnedAt
		b.origins = origins(0).with(originArrival)
	}
	if !f.learnedLive && f.grace == 0 && f.observedAt != 0 { // kubelet has let go of the object, which moved the stamp
		b.earliest, b.notBefore = min(b.earliest, f.created), b.earliest
	}
	if f.learnedAt <= b.latest+liveSlack {
		b.latest = min(b.latest, f.learnedAt)
		b.origins = b.origins.with(originArrival)
		if f.learnedLive {
			b.lean = leanLatest
		}
	}
	return b
}

func boundOf(c constraint) bound {
	return bound{key: c.key, earliest: c.earliest, latest: c.latest, lean: c.lean, origins: origins(0).with(c.origin)}
}

// objectGone is now, and not known, while the object is there.
func (f *terminationFold) objectGone() bound {
	if !f.Over() {
		return bound{earliest: f.now, latest: f.now}
	}
	b := bound{earliest: f.requested.earliest, latest: f.goneBy(), origins: origins(0).with(originArrival)}
	if f.goneLive {
		b.lean = leanLatest
	}
	return b
}

// goneBy is when the news came that the object is gone, which cannot be before the request.
func (f *terminationFold) goneBy() instant { return max(f.Ending.gone, f.requested.earliest) }

// stopBegun is when kubelet began to stop the containers. Its Event of the first one dates that; else it was before the status came that
// it writes then, which says which generation of the object it is about (Kubernetes 1.34 and newer), and as a rule when it heard of
// the deletion, as the agent did: that status is late; else that a container was killed when its grace period was over, which had
// begun that long before.
func (f *terminationFold) stopBegun() (bound, bool) {
	b := bound{earliest: f.requested.earliest, latest: f.gone.latest}
	known := false
	before := func(latest instant, o origin, l lean) {
		if latest < b.earliest {
			f.conflict("stop_begun", "", fmt.Sprintf("%s says %s or earlier, deletion was asked for at %s or later",
				o, clockText(latest), clockText(b.earliest)))
			return
		}
		if latest < b.latest {
			b.latest, b.lean = latest, l
		}
		b.origins, known = b.origins.with(o), true
	}
	var named instant
	for _, s := range f.Ending.stops {
		if s.killingAt != 0 && (named == 0 || s.killingAt < named) {
			named = s.killingAt
		}
	}
	if f.observedAt != 0 {
		before(f.observedAt, originArrival, leanLatest)
	}
	if named != 0 {
		before(named, originEventName, leanLatest)
		if named-eventSlack > b.earliest && named <= b.latest {
			b.earliest = named - eventSlack
		}
	}
	for _, s := range f.Ending.stops {
		end, code, reason, o := s.end()
		if killed := code == codeKilled && reason != reasonOutOfMemory && end.latest != maxInstant; !killed || f.grace == 0 || f.shortened {
			continue
		}
		if begun := end.latest - instant(f.killAfter()); begun >= b.earliest {
			l := leanNone
			if end.earliest == end.latest && f.killedOnTime(s.name) {
				l = leanLatest
			}
			before(begun, o, l)
		}
	}
	if f.observedAt != 0 && named == 0 {
		b.notAfter = f.requested.estimate()
		if f.observedLive {
			b.notAfter = max(b.notAfter, f.observedAt-statusLate)
		}
	}
	return b, known
}

// statusLate is how late the news of kubelet's status is at the most while kubelet has no other reason to be: 15 to 270 ms on a quiet
// node, where it began to stop the containers 5 ms after the request.
const statusLate = instant(300 * time.Millisecond)

// leastGrace is what kubelet gives each container, be the grace period shorter, or used up before its turn
// (kubelet: kuberuntime/kuberuntime_container.go, minimumGracePeriodInSeconds).
const leastGrace = 2 * time.Second

// killAfter is after how long kubelet kills, at the earliest.
func (f *terminationFold) killAfter() time.Duration { return max(f.grace, leastGrace) }

// killedOnTime says that a container is killed no later than that: it waits neither for a hook nor for the containers that it serves.
func (f *terminationFold) killedOnTime(name string) bool {
	return !slices.ContainsFunc(f.pod.Containers, func(c Container) bool {
		return c.Name == name && (c.PreStopHook || c.Kind == KindSidecar)
	})
}

// end is the interval that evidence of this container alone leaves for its end; latest is maxInstant where nothing tells.
func (s *stopEvidence) end() (b bound, code int, reason string, o origin) {
	b = bound{earliest: s.seenRunning, latest: maxInstant}
	if s.statusAt != 0 {
		b.latest, code, reason, o = s.statusAt, s.statusCode, s.statusReason, originArrival
		b.origins = b.origins.with(originArrival)
		if s.statusSecond != 0 && s.statusSecond <= s.statusAt {
			b.earliest = max(b.earliest, s.statusSecond)
			b.latest = min(s.statusAt, s.statusSecond+instant(time.Second)-1)
			b.origins, o = b.origins.with(originStatus), originStatus
		}
	}
	if s.finished != 0 {
		b = bound{earliest: s.finished, latest: s.finished, origins: origins(0).with(originRuntime)}
		code, reason, o = s.code, cmp.Or(s.reason, reason), originRuntime
	}
	return b, code, reason, o
}

// stopContainers dates the end of each container, and says how it ended.
func (f *terminationFold) stopContainers() {
	for _, c := range f.pod.Containers {
		i := slices.IndexFunc(f.Ending.stops, func(s stopEvidence) bool { return s.name == c.Name })
		if i < 0 || f.Ending.stops[i].notStarted && f.Ending.stops[i].finished == 0 && f.Ending.stops[i].seenRunning == 0 {
			continue
		}
		f.stopContainer(c, &f.Ending.stops[i])
	}
	if f.overflow {
		f.t.Missing = append(f.t.Missing, fmt.Sprintf("stopped/more than %d containers", maxStops))
	}
}

func (f *terminationFold) stopContainer(c Container, s *stopEvidence) {
	end, code, reason, _ := s.end()
	stop := Stop{Container: c.Name, Kind: c.Kind, PreStopHook: c.PreStopHook, Sources: end.origins.sources()}
	known := end.latest != maxInstant
	if s.finished != 0 && s.statusSecond != 0 && (s.finished < s.statusSecond || s.finished >= s.statusSecond+instant(time.Second)) {
		f.conflict("stopped", c.Name, fmt.Sprintf("%s says %s, %s %s", originRuntime, clockText(s.finished), originStatus, clockText(s.statusSecond)))
	}
	switch {
	case known && end.latest < f.requested.earliest || !known && s.waitsForNext && s.seenRunning == 0:
		stop.How = HowBefore
		if known {
			stop.StoppedAt = end.estimate().time()
			stop.setCode(code, reason)
		}
		f.t.Stops = append(f.t.Stops, stop)
		return
	case !known && !f.Over():
		stop.How = HowRunning
		end.earliest, end.latest = f.now, f.now
	case !known:
		stop.How = HowUnknown
		end.earliest, end.latest = max(f.requested.earliest, min(s.seenRunning, f.gone.latest)), f.gone.latest
		f.t.Missing = append(f.t.Missing, "stopped/"+c.Name)
	default:
		end.earliest = max(end.earliest, f.requested.earliest)
		end.latest = max(end.latest, end.earliest)
		end.notBefore = min(f.begun.estimate(), end.latest)
		if !f.begunKnown {
			end.notBefore = min(f.requested.estimate(), end.latest)
		}
		stop.StoppedAt = end.estimate().time()
		stop.setCode(code, reason)
		stop.How = f.howStopped(stop, end)
		if f.begunKnown {
			from := f.begun
			stop.Used, stop.Timed = end.estimate().sub(from.estimate()), true
			if stop.Used < 0 {
				stop.Used = 0
			}
			stop.Error = lengthError(from, end)
		}
	}
	f.stopped = append(f.stopped, stopBound{end, known, len(f.t.Stops)})
	f.t.Stops = append(f.t.Stops, stop)
}

const (
	codeSignal        = 128 // and the signal, as runtimes and shells write it
	lastSignal        = 64
	signalKill        = 9
	codeKilled        = codeSignal + signalKill
	reasonOutOfMemory = "OOMKilled" // in kubelet's word and in the runtime's
)

func (s *Stop) setCode(code int, reason string) {
	s.ExitCode, s.Exited, s.Reason = code, true, reason
	s.Signal = signalOf(code)
}

// signalOf is the signal that an exit code stands for, 0 for none.
func signalOf(code int) int {
	if code > codeSignal && code <= codeSignal+lastSignal {
		return code - codeSignal
	}
	return 0
}

// howStopped tells a kill for lack of time from others: kubelet sends SIGKILL no sooner than the grace period is over.
func (f *terminationFold) howStopped(s Stop, end bound) How {
	switch {
	case s.Reason == reasonOutOfMemory:
		return HowOutOfMemory
	case s.Signal == signalKill && end.latest.sub(f.requested.earliest) < f.killAfter():
		return HowKilledEarly
	case s.Signal == signalKill:
		return HowKilled
	case s.Signal != 0:
		return HowSignalled
	}
	return HowExited
}

// steps is what happened after the request, in order. Containers stop at the same time; the last of them to stop is what the
// others, and the pod, wait for. Sidecars are asked to stop when the containers that they serve have stopped.
func (f *terminationFold) steps() []terminationStep {
	steps := []terminationStep{{phase: PhaseKubeletPickup, end: f.begun, known: f.begunKnown, mark: "stop_begun"}}
	var mains, sidecars []stopBound
	for _, s := range f.stopped {
		if f.t.Stops[s.index].Kind == KindSidecar {
			sidecars = append(sidecars, s)
		} else {
			mains = append(mains, s)
		}
	}
	later := func(a, b stopBound) int { // one of which nothing tells may have been the last
		return cmp.Or(cmp.Compare(a.latest, b.latest), cmp.Compare(a.estimate(), b.estimate()))
	}
	last := bound{earliest: f.requested.earliest, latest: f.requested.latest}
	if len(mains) > 0 {
		s := slices.MaxFunc(mains, later)
		steps, last = f.stopSteps(steps, s), s.bound
	}
	slices.SortStableFunc(sidecars, later)
	for _, s := range sidecars {
		if s.latest > last.latest {
			steps, last = f.stopSteps(steps, s), s.bound
		}
	}

	down := bound{earliest: max(f.sandboxReady, last.earliest), latest: f.gone.latest}
	if f.sandboxDown != 0 {
		down.latest = min(f.sandboxDown, f.gone.latest)
		down.origins = origins(0).with(originRuntime)
	}
	down.earliest = min(down.earliest, down.latest)
	steps = append(steps, terminationStep{phase: PhaseSandboxStop, end: down, known: f.sandboxDown != 0, mark: "sandbox_stopped"})
	gone := f.gone
	gone.earliest = min(max(gone.earliest, down.earliest, f.sandboxReady), gone.latest)
	if f.hadFinalizers && f.releasedAt <= f.gone.latest {
		let := bound{earliest: gone.earliest, latest: f.releasedAt, lean: leanLatest, origins: origins(0).with(originArrival)}
		let.earliest = min(let.earliest, let.latest)
		steps = append(steps, terminationStep{phase: PhaseObjectDeletion, end: let, known: true, mark: "released"})
		return append(steps, terminationStep{phase: PhaseFinalizers, end: gone, known: f.Over(), mark: "gone"})
	}
	return append(steps, terminationStep{phase: PhaseObjectDeletion, end: gone, known: f.Over(), mark: "gone"})
}

// stopSteps is what a container did until it stopped. When it was out of time is known if that was when the grace period of all was
// over, and if nobody shortened it: it begins anew then. Of too many containers another may be the last.
func (f *terminationFold) stopSteps(steps []terminationStep, s stopBound) []terminationStep {
	stop := f.t.Stops[s.index]
	step := terminationStep{phase: PhaseGrace, container: stop.Container, end: s.bound, known: s.known && !f.overflow, mark: "stopped"}
	if stop.PreStopHook {
		step.phase, step.also = PhasePreStopHook, []Phase{PhaseGrace}
		return append(steps, step)
	}
	if stop.How == HowKilled && f.begunKnown && !f.shortened && !f.overflow && f.killedOnTime(stop.Container) {
		due := f.begun
		due.earliest, due.latest = due.earliest+instant(f.killAfter()), due.latest+instant(f.killAfter())
		if due.notAfter != 0 {
			due.notAfter += instant(f.killAfter())
		}
		due.latest = min(due.latest, s.latest)
		due.earliest = min(due.earliest, due.latest)
		step.end, step.mark = due, "grace_over"
		steps = append(steps, step)
		step = terminationStep{phase: PhaseKill, container: stop.Container, end: s.bound, known: true, mark: "stopped"}
	}
	return append(steps, step)
}

// partition lays the steps end to end. A step of which nothing tells the end is one with those that follow, under its own name only
// while all are charged to the same.
func (f *terminationFold) partition(steps []terminationStep) {
	from, start := f.requested, f.requested.estimate()
	f.t.RequestedAt = start.time()
	var merged []terminationStep
	for i, step := range steps {
		merged = append(merged, step)
		final := i == len(steps)-1
		if !step.known && !final {
			if f.Over() && step.mark != "stopped" {
				f.t.Missing = append(f.t.Missing, step.mark)
			}
			if step.mark != "stopped" || f.Over() {
				continue
			}
		}
		open := !step.known
		until := max(min(step.end.estimate(), f.gone.latest), start)
		if open {
			until = max(f.now, start)
		}
		f.t.Phases = append(f.t.Phases, f.span(merged, from, start, step.end, until, open))
		from, start, merged = step.end, until, nil
		if open {
			break
		}
	}
	if f.Over() {
		f.t.GoneAt = start.time()
	} else {
		from = bound{earliest: start, latest: start}
	}
	f.t.TotalError = lengthError(f.requested, from.at(start))
	f.t.Total = start.sub(f.requested.estimate())
}

func (f *terminationFold) span(merged []terminationStep, from bound, start instant, to bound, until instant, open bool) Span {
	s := Span{
		Phase: merged[0].phase, Cause: terminationCauses[merged[0].phase], Container: merged[0].container, StartAt: start.time(), EndAt: until.time(),
		Sources: (from.origins | to.origins).sources(), Open: open,
	}
	var names []Phase
	for _, step := range merged {
		s.Container = cmp.Or(s.Container, step.container)
		for _, phase := range append([]Phase{step.phase}, step.also...) {
			if !slices.Contains(names, phase) {
				names = append(names, phase)
			}
			if terminationCauses[phase] != s.Cause {
				s.Cause = CauseUnknown
			}
		}
	}
	switch {
	case s.Cause == CauseUnknown:
		s.Phase, s.MergedWith = PhaseUnattributed, names
	case len(names) > 1:
		s.MergedWith = names[1:]
	}
	if open {
		to = bound{earliest: until, latest: until}
	}
	s.Error = lengthError(from.at(start), to.at(until))
	return s
}

// at is the bound with an estimate that its neighbors have settled.
func (b bound) at(estimate instant) bound {
	b.notBefore, b.notAfter = estimate, estimate
	return b
}

// lengthError is the farthest that the length between two instants can be from that between their estimates.
func lengthError(from, to bound) time.Duration {
	length := to.estimate() - from.estimate()
	longest, shortest := to.latest-from.earliest, max(0, to.earliest-from.latest)
	return time.Duration(max(0, longest-length, length-shortest))
}

// clockText is an instant as conflicts tell it.
func clockText(i instant) string { return i.time().Format("15:04:05.000") }
