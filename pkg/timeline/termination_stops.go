package timeline

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// stopBound is when a container stopped.
type stopBound struct {
	bound
	known bool
	index int // in Termination.Stops
}

// end is the interval of a container's end by its own evidence; latest is maxInstant without evidence.
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
		i := slices.IndexFunc(f.TerminationEvidence.stops, func(s stopEvidence) bool { return s.name == c.Name })
		if i < 0 ||
			f.TerminationEvidence.stops[i].notStarted && f.TerminationEvidence.stops[i].finished == 0 &&
				f.TerminationEvidence.stops[i].seenRunning == 0 {
			continue
		}
		f.stopContainer(c, &f.TerminationEvidence.stops[i])
	}
	if f.overflow {
		f.t.Missing = append(f.t.Missing, fmt.Sprintf("stopped/more than %d containers", maxStops))
	}
}

func (f *terminationFold) stopContainer(c Container, s *stopEvidence) {
	end, code, reason, _ := s.end()
	stop := Stop{Container: c.Name, Kind: c.Kind, PreStopHook: c.PreStopHook, Sources: end.origins.sources()}
	known := end.latest != maxInstant
	if s.finished != 0 && s.statusSecond != 0 &&
		(s.finished < s.statusSecond || s.finished >= s.statusSecond+instant(time.Second)) {
		f.conflict("stopped", c.Name,
			fmt.Sprintf("%s says %s, %s %s", originRuntime, clockText(s.finished), originStatus,
				clockText(s.statusSecond)))
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
	codeSignal        = 128 // plus the signal, as runtimes and shells write it
	lastSignal        = 64
	signalKill        = 9
	codeKilled        = codeSignal + signalKill
	reasonOutOfMemory = "OOMKilled" // the kubelet's and the runtime's reason
)

func (s *Stop) setCode(code int, reason string) {
	s.ExitCode, s.Exited, s.Reason = code, true, reason
	s.Signal = signalOf(code)
}

// signalOf is the signal that an exit code stands for; 0 for none.
func signalOf(code int) int {
	if code > codeSignal && code <= codeSignal+lastSignal {
		return code - codeSignal
	}
	return 0
}

// howStopped separates kills at the end of the grace period from others: the kubelet sends SIGKILL no sooner.
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
