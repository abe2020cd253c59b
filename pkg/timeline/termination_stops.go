package timeline

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// stopBound is the bound of the time when a container stopped.
type stopBound struct {
	bound
	known bool
	lost  bool // the runtime lost track of the container; its exit code and end time do not come from the process
	late  bool // see stoppedLate
	index int  // the index in Termination.Stops
}

// endBound returns the interval (bound) that contains the time of a container's end. endBound uses only the
// container's own evidence. If no evidence shows the end, the field "latest" of the bound is maxInstant. If the
// runtime lost the container, the runtime's timestamp is the time when the runtime noticed the loss.
func (s *stopEvidence) endBound() (b bound, code int, reason string, o origin) {
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
	if lostRun(reason, code) {
		b.earliest = min(s.seenRunning, b.latest)
	}
	return b, code, reason, o
}

// stopContainers determines when and how each container ended.
func (f *terminationFold) stopContainers() {
	for _, c := range f.e.pod.Containers {
		i := slices.IndexFunc(f.e.stops, func(s stopEvidence) bool { return s.name == c.Name })
		if i < 0 {
			continue
		}
		if s := &f.e.stops[i]; !s.notStarted || s.finished != 0 || s.seenRunning != 0 {
			f.stopContainer(c, s)
		}
	}
	if f.e.overflow {
		f.t.Missing = append(f.t.Missing, fmt.Sprintf("stopped/more than %d containers", maxStops))
	}
}

func (f *terminationFold) stopContainer(c Container, s *stopEvidence) {
	end, code, reason, _ := s.endBound()
	stop := Stop{Container: c.Name, Kind: c.Kind, PreStopHook: c.PreStopHook, Sources: end.origins.sources()}
	known := end.latest != maxInstant
	lost := lostRun(reason, code)
	if s.finished != 0 && s.statusSecond != 0 &&
		(s.finished < s.statusSecond || s.finished >= s.statusSecond+instant(time.Second)) {
		f.conflict("stopped", c.Name,
			fmt.Sprintf("%s reports %s, %s reports %s", originRuntime, clockText(s.finished), originStatus,
				clockText(s.statusSecond)))
	}
	switch {
	case known && end.latest < f.requested.earliest || !known && s.waitsForNext && s.seenRunning == 0:
		stop.How = StopBefore
		if known {
			stop.StoppedAt = end.estimate().time()
			stop.setCode(code, reason)
		}
		f.t.Stops = append(f.t.Stops, stop)
		return
	case !known && !f.e.Over():
		stop.How = StopRunning
		end.earliest, end.latest = f.now, f.now
	case !known:
		stop.How = StopUnknown
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
		if f.begunKnown && !f.stoppedLate(s, end) {
			from := f.begun
			stop.Used, stop.Timed = max(0, end.estimate().sub(from.estimate())), true
			stop.Error = lengthError(from, end)
		}
	}
	f.stopped = append(f.stopped, stopBound{end, known, lost, f.stoppedLate(s, end), len(f.t.Stops)})
	f.t.Stops = append(f.t.Stops, stop)
}

func (s *Stop) setCode(code int, reason string) {
	s.ExitCode, s.Exited, s.Reason = code, true, reason
	s.Signal = signalOf(code)
}

// howStopped distinguishes kills at the end of the grace period from other kills. The kubelet never sends SIGKILL
// before the end of the grace period.
func (f *terminationFold) howStopped(s Stop, end bound) StopKind {
	switch {
	case lostRun(s.Reason, s.ExitCode):
		return StopUnknown
	case s.Reason == reasonOutOfMemory:
		return StopOutOfMemory
	case s.Signal == signalKill && end.latest.sub(f.requested.earliest) < f.killAfter():
		return StopKilledEarly
	case s.Signal == signalKill:
		return StopKilled
	case s.Signal != 0:
		return StopSignalled
	}
	return StopExited
}
