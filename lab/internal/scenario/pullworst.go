package scenario

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/bench"
)

const (
	// eventLate is how late kubelet may be with an Event: it makes it in the same function, as soon as it is scheduled.
	eventLate = 100 * time.Millisecond
	// stampUnit is what the stamps of an Event that repeats are cut to. The name of one that does not has nanoseconds.
	stampUnit = time.Second
	// lengthsOff is by how much the lengths in a Pulled Event may be off: two that are cut to a millisecond, and what they
	// hold besides, such as asking for the image's size.
	lengthsOff = 15 * time.Millisecond
)

// neighbors are the runtime's own instants on both sides of a pull: kubelet had not turned to the container before the
// first, and had the image before the second. Zero for what did not come to pass.
type neighbors struct{ before, after time.Time }

// runtimeLog is what containerd's log tells of a pod, for who judges an agent without Events; else empty.
func (j *pullJudge) runtimeLog(of agent.Timeline) (bench.RuntimeLog, error) {
	if j.view.events {
		return bench.RuntimeLog{}, nil
	}
	return j.bench.RuntimeLog(of.Name, of.UID)
}

// neighborsIn finds them for a container, or for the image of a volume.
func neighborsIn(log bench.RuntimeLog, spec corev1.PodSpec, container string) (b neighbors) {
	b.before = log.SandboxReadyAt
	volume := strings.HasPrefix(container, "image:")
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		if volume || c.Name == container {
			b.after = log.RunningAt[c.Name]
			return b
		}
		if at := log.RunningAt[c.Name]; at.After(b.before) {
			b.before = at
		}
	}
	return b
}

// worst is the largest error that the evidence of an agent leaves about one attempt. One that states a larger one has not
// used its evidence: without Events, it knows when the manifest came, when the image was stored and what the runtime did
// before and after; without the runtime, it has kubelet's Events.
func (s view) worst(a bench.Attempt, near neighbors) time.Duration {
	switch {
	case s.full():
		return 0
	case s.events && a.Failed() && a.Number > 0:
		return 2 * (eventLate + stampUnit)
	case s.events:
		return 2*eventLate + lengthsOff
	}
	var worst time.Duration
	if resolved := a.ResolvedAt; !near.before.IsZero() && !resolved.IsZero() {
		worst += resolved.Sub(near.before)
	}
	if !near.after.IsZero() {
		worst += near.after.Sub(a.Call.EndAt)
	}
	if !s.runtime { // then what was before and after is known from the pod's status
		worst += 2 * stampUnit
	}
	return max(0, worst)
}

// worstLength is worst for the length of an attempt. If it failed and its Events repeat, these are the only evidence of it:
// the runtime does not list what failed.
func (s view) worstLength(a bench.Attempt, near neighbors) time.Duration {
	if s.full() && a.Failed() && a.Number > 0 {
		return 2 * (eventLate + stampUnit)
	}
	return s.worst(a, near)
}

// worstBackoff is that of all waits between attempts together, each of which begins with an attempt's end and ends with the
// next one's request.
func (s view) worstBackoff(attempts []bench.Attempt, near neighbors) (worst time.Duration) {
	if !s.events { // the status tells of failures, the runtime what was before and after
		if near.after.IsZero() {
			return 0
		}
		return attempts[0].ReportedAt.Sub(near.before) + near.after.Sub(attempts[len(attempts)-1].RequestedAt)
	}
	for i := range attempts[1:] {
		worst += 2 * eventLate
		if i > 0 {
			worst += stampUnit // the end is of an Event that repeats
		}
		if next := attempts[i+1]; next.Failed() {
			worst += stampUnit // as is the beginning of what has no length
		}
	}
	return worst
}

// limit is how far a number may be off: of an agent that sees everything the exactness, of another one the error that it
// states, too, which must not be larger than its evidence leaves.
func (j *pullJudge) limit(what string, stated json.Number, worst time.Duration) time.Duration {
	if j.view.full() && worst == 0 {
		return exact
	}
	bound, err := agent.Nanoseconds(stated)
	if err != nil {
		return exact
	}
	return exact + j.capped(what, bound, worst)
}

func (j *pullJudge) capped(what string, stated, worst time.Duration) time.Duration {
	if stated > worst+exact { // the truth is that exact itself
		j.verdict.Problem("%s: the agent states an error of %s, more than what it sees leaves open at worst, %s", what, seconds(stated), seconds(worst))
		return worst
	}
	return stated
}
