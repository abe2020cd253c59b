package timeline

import (
	"fmt"
	"slices"
	"time"
)

// Termination computes the termination from the evidence, up to the time "now". The argument "skew" is the difference
// between the control plane's clock and the node's clock.
func (e *TerminationEvidence) Termination(now time.Time, skew Skew) Termination {
	f := terminationFold{e: e, now: at(now), skew: skew}
	f.t = Termination{
		Grace: e.grace, ZeroGrace: e.grace == 0 && e.releasedAt != 0, Reason: e.pod.Disruption,
		Skew: skew, Listed: !e.learnedLive,
	}
	f.requested = f.requestBound()
	f.gone = f.objectGone()
	f.begun, f.begunKnown = f.stopBegun()
	f.stopContainers()
	f.toPhases(f.terminationSteps())
	f.t.adjustToClock(&e.clock, f.requested.earliest.time())
	return f.t
}

// terminationFold computes one termination. The order of its steps matters. The bound "begun" is computed from the
// bound "requested". The ends of the containers are computed from both bounds.
type terminationFold struct {
	e    *TerminationEvidence
	now  instant
	skew Skew
	t    Termination

	requested, begun, gone bound
	begunKnown             bool
	stopped                []stopBound // containers that stopped after the request or are still running, in spec order
}

func (f *terminationFold) conflict(milestone, container, detail string) {
	f.t.Conflicts = append(f.t.Conflicts, TerminationConflict{milestone, container, detail})
}

// requestBound returns the interval (bound) that contains the time of the deletion request. The control plane's
// timestamp is truncated to seconds, so the request happened less than a second after the timestamp. The request also
// happened before the agent received the first pod object with a deletion timestamp.
func (f *terminationFold) requestBound() bound {
	c := f.skew.widen(second(milestoneKey{}, originControlPlane, f.e.requestSecond.time()))
	b := bound{earliest: c.earliest, latest: c.latest, origins: origins(0).with(c.origin)}
	if f.e.learnedAt < b.earliest {
		f.conflict("deletion_requested", "", fmt.Sprintf("%s reports %s or later, %s reports %s or earlier",
			originControlPlane, clockText(b.earliest), originArrival, clockText(f.e.learnedAt)))
		b.earliest = f.e.created
		if f.e.learnedLive {
			b.earliest = f.e.learnedAt - liveSlack
		}
		b.earliest, b.latest = min(b.earliest, f.e.learnedAt), f.e.learnedAt
		b.origins = origins(0).with(originArrival)
	}
	if !f.e.learnedLive && f.e.grace == 0 && f.e.observedAt != 0 {
		// When the kubelet finally deletes the object with grace period 0, the deletion timestamp changes. So the
		// first request can be earlier than the timestamp.
		b.earliest, b.notBefore = min(b.earliest, f.e.created), b.earliest
	}
	if f.e.learnedAt <= b.latest+liveSlack {
		b.latest = min(b.latest, f.e.learnedAt)
		b.origins = b.origins.with(originArrival)
		if f.e.learnedLive {
			b.bias = biasLatest
		}
	}
	return b
}

// objectGone returns the interval (bound) that contains the time of the object's deletion. While the object exists,
// both ends of the interval are the current time.
func (f *terminationFold) objectGone() bound {
	if !f.e.Over() {
		return bound{earliest: f.now, latest: f.now}
	}
	b := bound{earliest: f.requested.earliest, latest: max(f.e.gone, f.requested.earliest),
		origins: origins(0).with(originArrival)}
	if f.e.goneLive {
		b.bias = biasLatest
	}
	return b
}

// stopBegun returns the interval (bound) that contains the time when the kubelet began to stop the containers. The
// second result reports whether there is evidence for this time. There are three kinds of evidence:
//   - The first Killing Event contains the time when the kubelet began to stop the containers.
//   - Since Kubernetes 1.34, the kubelet writes the new generation of the object to status.observedGeneration. The
//     kubelet writes this status after it begins to stop the containers, and the status arrives late. So podlapse
//     usually estimates that the stop began at the time of the deletion request.
//   - If a container was killed at the end of its grace period, the kubelet began the stop one grace period before the
//     kill, or earlier. If the kill came much later than one grace period after the request, this evidence does not
//     show the true start of the stop. Either the kubelet began late, or the kill came late.
func (f *terminationFold) stopBegun() (bound, bool) {
	b := bound{earliest: f.requested.earliest, latest: f.gone.latest}
	known := false
	before := func(latest instant, o origin, l bias) {
		if latest < b.earliest {
			f.conflict("stop_begun", "", fmt.Sprintf("%s reports %s or earlier, but the deletion was requested at %s "+
				"or later",
				o, clockText(latest), clockText(b.earliest)))
			return
		}
		if latest < b.latest {
			b.latest, b.bias = latest, l
		}
		b.origins, known = b.origins.with(o), true
	}
	var named instant
	for _, s := range f.e.stops {
		if s.killingAt != 0 && (named == 0 || s.killingAt < named) {
			named = s.killingAt
		}
	}
	if f.e.observedAt != 0 {
		before(f.e.observedAt, originArrival, biasLatest)
	}
	if named != 0 {
		before(named, originEventName, biasLatest)
		if named-eventSlack > b.earliest && named <= b.latest {
			b.earliest = named - eventSlack
		}
	}
	stated, statedKnown := b.latest, known
	var onTime bool // a kill shows that the stop began at most restartTakes after the request
	for _, s := range f.e.stops {
		end, code, reason, o := s.endBound()
		killed := code == codeKilled && reason != reasonOutOfMemory && end.latest != maxInstant
		if !killed || f.e.grace == 0 || f.e.shortened {
			continue
		}
		if begun := end.latest - instant(f.killAfter()); begun >= b.earliest {
			l := biasNone
			if end.earliest == end.latest && f.killedOnTime(s.name) {
				l = biasLatest
			}
			before(begun, o, l)
			onTime = onTime || begun-instant(f.extraGrace(s.name))-f.requested.estimate() <= restartTakes
		}
	}
	known = onTime || statedKnown && stated-b.latest <= restartTakes
	if f.e.observedAt != 0 && named == 0 {
		b.notAfter = f.requested.estimate()
		if f.e.observedLive {
			b.notAfter = max(b.notAfter, f.e.observedAt-statusLate)
		}
	}
	return b, known
}

// statusLate is longer than the usual delay of the kubelet's status. In measurements on a quiet node, the status
// arrived with a delay of 15 to 270 ms. The kubelet began to stop the containers 5 ms after the deletion request.
const statusLate = instant(300 * time.Millisecond)

// leastGrace is the minimum time that each container gets to stop, even if the grace period is shorter or has ended
// (kubelet: kuberuntime/kuberuntime_container.go, minimumGracePeriodInSeconds).
const leastGrace = 2 * time.Second

// killAfter returns the shortest possible time until a container is killed. This time begins when the kubelet begins
// to stop the container.
func (f *terminationFold) killAfter() time.Duration { return max(f.e.grace, leastGrace) }

// killedOnTime reports whether a kill of the container shows exactly when the kubelet began to stop the pod. In this
// case, the time from the beginning of the stop to the kill is f.killAfter(). killedOnTime returns false for a
// container with a pre-stop hook. killedOnTime also returns false for a sidecar, because a sidecar stops after the
// containers that it serves.
func (f *terminationFold) killedOnTime(name string) bool {
	return !slices.ContainsFunc(f.e.pod.Containers, func(c Container) bool {
		return c.Name == name && (c.PreStopHook || c.Kind == KindSidecar)
	})
}

// clockText returns the time of day of an instant, for the text of a conflict.
func clockText(i instant) string { return i.time().Format("15:04:05.000") }
