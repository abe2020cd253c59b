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
	// eventLate is the longest accepted time between an action of the kubelet and the kubelet's Event about this
	// action. The kubelet creates the Event in the same function that performs the action. On a busy machine, the
	// kubelet's thread can be delayed between the action and the Event.
	eventLate = 100 * time.Millisecond
	// responseLate is the longest accepted time between the runtime's response to a pull request and the kubelet's
	// Event about this response.
	responseLate = 250 * time.Millisecond
	// stampUnit is the precision of the timestamps of a repeated Event. If an Event is not repeated, the name of the
	// Event contains the time in nanoseconds.
	stampUnit = time.Second
	// A Pulled Event contains two durations of the pull: with and without the wait in the queue. lengthsOff is the
	// largest accepted difference between one of these durations and its true value. The kubelet truncates both
	// durations to milliseconds. Both durations also include other work of the kubelet, such as the query for the
	// image's size.
	lengthsOff = 15 * time.Millisecond
)

// neighborInstants contains the times of two steps: one before a pull, and one after this pull. At the time "before",
// the kubelet had not yet requested the image. At the time "after", the kubelet had the image. If a step did not
// happen or is unknown, its time is zero.
type neighborInstants struct{ before, after time.Time }

// runtimeLog returns containerd's log about a pod. If the agent receives Events, runtimeLog returns an empty log.
func (j *pullJudge) runtimeLog(of agent.Timeline) (bench.RuntimeLog, error) {
	if j.sources.events {
		return bench.RuntimeLog{}, nil
	}
	log, err := j.bench.RuntimeLog(of.Name, of.UID)
	if j.stack.Containerd.Major == 1 { // containerd 1 does not report when a sandbox is running
		log.SandboxReadyAt = log.SandboxRequestedAt
	}
	return log, err
}

// neighborsIn reads the neighborInstants of a pull from the runtime's log. The argument "container" is the name of a
// container, or image:REFERENCE for an image volume.
func neighborsIn(log bench.RuntimeLog, spec corev1.PodSpec, container string) (b neighborInstants) {
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

// largestError returns the largest error bound that the agent is allowed to state for one attempt. If the agent states
// a larger error bound, it did not use all its evidence. An agent without Events knows when the manifest arrived and
// when the image was stored. An agent without Events also knows what the runtime did before and after the pull. An
// agent without the runtime uses the kubelet's Events.
func (s agentSources) largestError(a bench.Attempt, near neighborInstants) time.Duration {
	switch {
	case s.isFull():
		return lateResponse(a)
	case s.events && a.Failed() && a.Number > 0:
		return eventLate + responseLate + 2*stampUnit
	case s.events:
		return eventLate + responseLate + lengthsOff
	}
	var worst time.Duration
	if resolved := a.ResolvedAt; !near.before.IsZero() && !resolved.IsZero() {
		worst += resolved.Sub(near.before)
	}
	if !near.after.IsZero() {
		worst += near.after.Sub(a.Call.EndAt) + slowResponse(a)
	}
	if !s.runtime { // only the pod's status shows the steps before and after the pull
		worst += 2 * stampUnit
	}
	return max(0, worst)
}

// largestLengthError returns the largest error bound that the agent is allowed to state for the duration of an
// attempt. The runtime does not list failed pulls. The only evidence of a failed attempt is its Events. The timestamps
// of repeated Events have a low precision.
func (s agentSources) largestLengthError(a bench.Attempt, near neighborInstants) time.Duration {
	switch {
	case s.isFull() && a.Failed() && a.Number > 0:
		return eventLate + responseLate + 2*stampUnit
	case s.isFull() && a.Failed() && lateResponse(a) > 0:
		return eventLate + responseLate
	}
	return s.largestError(a, near)
}

// slowResponse returns how long the runtime took to respond after its first record of the image. If this time is at
// most responseLate, slowResponse returns zero. Before it responds, the runtime writes other records, and a slow disk
// can delay these writes. The agent sees only the first record of the image, and the step after the pull.
func slowResponse(a bench.Attempt) time.Duration {
	if slow := a.Call.EndAt.Sub(a.Call.NamedAt); !a.Call.NamedAt.IsZero() && slow > responseLate {
		return slow
	}
	return 0
}

// lateResponse returns the sum of two delays. The first delay is the result of slowResponse. The second delay is the
// time from the runtime's response until the kubelet's Event about the end of the pull. lateResponse ignores the
// second delay if it is at most half of the constant "exact". No evidence shows whether the runtime responded late or
// the kubelet received the response late.
func lateResponse(a bench.Attempt) time.Duration {
	if late := a.ReportedAt.Sub(a.Call.EndAt); late > exact/2 {
		return late + slowResponse(a)
	}
	return slowResponse(a)
}

// leastBackoff limits the error of an agent without Events. The reported total of the waits between attempts must be
// at least the true total divided by leastBackoff. The agent sees each failed pull in the pod's status. After a failed
// pull, the kubelet waits at least for the duration of its back-off.
const leastBackoff = 2

// largestBackoffError returns the largest error bound that the agent is allowed to state for the sum of all waits
// between attempts. Each wait starts at the end of an attempt, and ends when the kubelet requests the next pull.
func (s agentSources) largestBackoffError(attempts []bench.Attempt, near neighborInstants) (worst time.Duration) {
	if !s.events {
		// The pod's status shows each failed pull only some time after the failure. No evidence shows when the kubelet
		// requested the pulls. An agent without Events knows only that each wait is at least as long as the kubelet's
		// back-off (see leastBackoff). If a wait is longer, the rest of the wait could also belong to a pull.
		if near.after.IsZero() {
			return 0
		}
		return near.after.Sub(near.before)
	}
	for i := range attempts[1:] {
		worst += eventLate + responseLate
		if i > 0 {
			worst += stampUnit // the Event at the end of the wait is a repeated Event
		}
		if next := attempts[i+1]; next.Failed() {
			// the Event about the failure of this attempt is a repeated Event
			worst += stampUnit
		}
	}
	return worst
}

// pluginTime returns the part of an attempt in which a credential plugin could have run, according to the agent's
// evidence. A plugin ends before the runtime gets the request, and therefore before the image's manifest arrives. Only
// the runtime's stores show when the manifest arrived. Only the durations in the kubelet's Events include the plugin's
// time. The kubelet stops its measurement shortly before it creates the Event.
func (j *pullJudge) pluginTime(a bench.Attempt) time.Duration {
	switch {
	case !j.stack.Kubernetes.PullsMayHidePlugins() || !j.sources.events:
		return 0
	case j.sources.runtime && !a.ResolvedAt.IsZero():
		return max(0, a.ResolvedAt.Sub(a.Call.StartAt))
	}
	return a.ReportedAt.Sub(a.Call.StartAt)
}

// tolerance returns the largest allowed difference between a reported duration of the attempt and the truth. If the
// agent has all sources and its evidence is exact, the result is the constant "exact". In all other cases, the result
// is the sum of the constant "exact" and the agent's error bound. If the agent's error bound is larger than its
// evidence allows, tolerance reports a problem.
//
// If an agent cannot rule out that a credential plugin ran, it is allowed to state a larger error bound. This larger
// error bound does not increase the tolerance. In the lab, the true duration of a pull never includes a plugin's run.
// An agent with all sources is also allowed to state an error bound of up to eventLate, because the Event about the end
// of a pull can be late. This error bound does not increase the tolerance either. If the evidence of this agent is
// exact, tolerance does not check the error bound.
func (j *pullJudge) tolerance(what string, stated json.Number, a bench.Attempt, worst time.Duration) time.Duration {
	if j.sources.isFull() && worst == 0 {
		return exact
	}
	bound, err := agent.Nanoseconds(stated)
	if err != nil {
		return exact
	}
	allowed := max(worst, j.pluginTime(a))
	if j.sources.isFull() {
		allowed = max(allowed, eventLate)
	}
	return exact + min(j.capped(what, bound, allowed), worst+exact)
}

func (j *pullJudge) capped(what string, stated, worst time.Duration) time.Duration {
	if stated > worst+exact { // durations in the logs can be wrong by up to the constant "exact"
		j.verdict.Problem("%s: the agent states an error bound of %s, but its evidence allows at most %s", what,
			seconds(stated), seconds(worst))
		return worst
	}
	return stated
}
