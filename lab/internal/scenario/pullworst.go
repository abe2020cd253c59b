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
	// eventLate is how late the kubelet may be with an Event. It creates the Event in the same function as the fact,
	// but a busy machine may delay the thread in between.
	eventLate = 100 * time.Millisecond
	// stampUnit is the precision of the timestamps of a repeated Event. The name of any other Event has nanoseconds.
	stampUnit = time.Second
	// lengthsOff is the error of the durations in a Pulled Event: two are truncated to milliseconds, and they include
	// other work such as the query for the image's size.
	lengthsOff = 15 * time.Millisecond
)

// neighbors is the runtime's instants on both sides of a pull: the kubelet had not reached the container at the first,
// and had the image at the second. Zero if it did not happen.
type neighbors struct{ before, after time.Time }

// runtimeLog returns containerd's log about a pod if the agent has no Events; otherwise it is empty.
func (j *pullJudge) runtimeLog(of agent.Timeline) (bench.RuntimeLog, error) {
	if j.view.events {
		return bench.RuntimeLog{}, nil
	}
	return j.bench.RuntimeLog(of.Name, of.UID)
}

// neighborsIn returns the neighbors of the pull for a container, or for the image of a volume.
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

// worst is the largest error that an agent's evidence allows for one attempt. An agent that states a larger one has not
// used its evidence. Without Events, it knows when the manifest arrived, when the image was stored, and what the
// runtime did before and after. Without the runtime, it has the kubelet's Events.
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
	if !s.runtime { // then the pod's status dates the steps before and after
		worst += 2 * stampUnit
	}
	return max(0, worst)
}

// worstLength is worst for the duration of an attempt. If it failed and its Events are repeated, they are the only
// evidence of it, because the runtime does not list failed pulls.
func (s view) worstLength(a bench.Attempt, near neighbors) time.Duration {
	if s.full() && a.Failed() && a.Number > 0 {
		return 2 * (eventLate + stampUnit)
	}
	return s.worst(a, near)
}

// worstBackoff is worst for all waits between attempts together. Each starts at the end of an attempt and ends with the
// next request.
func (s view) worstBackoff(attempts []bench.Attempt, near neighbors) (worst time.Duration) {
	if !s.events { // the status shows failures; the runtime shows the steps before and after
		if near.after.IsZero() {
			return 0
		}
		return attempts[0].ReportedAt.Sub(near.before) + near.after.Sub(attempts[len(attempts)-1].RequestedAt)
	}
	for i := range attempts[1:] {
		worst += 2 * eventLate
		if i > 0 {
			worst += stampUnit // the Event at the end is a repeated one
		}
		if next := attempts[i+1]; next.Failed() {
			worst += stampUnit // the same applies to the Event at the start, if it has no duration
		}
	}
	return worst
}

// limit is the largest error of a number: exact for an agent with all sources. For another one, the error that it
// states is added, which must not be larger than its evidence allows.
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
	if stated > worst+exact { // the truth itself has this error
		j.verdict.Problem("%s: the agent states an error of %s, but its evidence allows at most %s", what,
			seconds(stated), seconds(worst))
		return worst
	}
	return stated
}
