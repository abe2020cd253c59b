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
	// eventLate is the longest delay of a kubelet Event. The kubelet creates the Event in the function that performs
	// the reported action. A busy machine can delay the kubelet's thread between the reported action and the creation
	// of the Event.
	eventLate = 100 * time.Millisecond
	// responseLate is the longest delay between the runtime's response about a pull and the kubelet's Event about this
	// response.
	responseLate = 250 * time.Millisecond
	// stampUnit is the precision of the timestamps of a repeated Event. If an Event is not repeated, the name of the
	// Event contains the time in nanoseconds.
	stampUnit = time.Second
	// lengthsOff is the largest difference between the durations in a Pulled Event and the truth. The kubelet truncates
	// the two durations in a Pulled Event to milliseconds. The durations also include other work, such as the query for
	// the image's size.
	lengthsOff = 15 * time.Millisecond
)

// neighborInstants contains the times of two steps in the runtime's log: one before a pull, and one after this pull. At
// the time in the field "before", the kubelet had not yet requested the image. At the time in the field "after", the
// kubelet had the image. The field of a step that did not happen is zero.
type neighborInstants struct{ before, after time.Time }

// runtimeLog returns containerd's log about a pod if the agent receives no Events, and an empty log otherwise.
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

// neighborsIn returns the neighborInstants of the pull for a container or an image volume.
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

// largestError returns the largest error bound that an agent's evidence allows for one attempt. If an agent states a
// larger error bound, the agent did not use all its evidence. Without Events, the agent knows when the manifest
// arrived, when the image was stored, and what the runtime did before and after the pull. Without the runtime, the
// agent uses the kubelet's Events.
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

// largestLengthError returns the largest error bound that an agent's evidence allows for the duration of an attempt.
// The runtime does not list failed pulls. The only evidence of a failed attempt is its Events, and the timestamps of
// repeated Events have a low precision.
func (s agentSources) largestLengthError(a bench.Attempt, near neighborInstants) time.Duration {
	switch {
	case s.isFull() && a.Failed() && a.Number > 0:
		return eventLate + responseLate + 2*stampUnit
	case s.isFull() && a.Failed() && lateResponse(a) > 0:
		return eventLate + responseLate
	}
	return s.largestError(a, near)
}

// slowResponse returns the time from the runtime's first record of the image until the runtime's response, or zero if
// this time is at most responseLate. After its first record of the image, the runtime writes other records before it
// responds, and a slow disk can delay these writes. The agent sees only the runtime's first record of the image, and
// the step after the pull.
func slowResponse(a bench.Attempt) time.Duration {
	if slow := a.Call.EndAt.Sub(a.Call.NamedAt); !a.Call.NamedAt.IsZero() && slow > responseLate {
		return slow
	}
	return 0
}

// lateResponse returns the sum of slowResponse and the delay of the kubelet's Event about the end of a pull.
// lateResponse ignores a delay of at most half of the constant "exact". No evidence shows whether the runtime responded
// late or the kubelet received the response late.
func lateResponse(a bench.Attempt) time.Duration {
	if late := a.ReportedAt.Sub(a.Call.EndAt); late > exact/2 {
		return late + slowResponse(a)
	}
	return slowResponse(a)
}

// leastBackoff limits the error of an agent without Events: the reported total of the waits between attempts must be at
// least the true total divided by leastBackoff. The pod's status shows each failed pull. After a failed pull, the
// kubelet waits at least for the duration of its back-off.
const leastBackoff = 2

// largestBackoffError returns the largest error bound that an agent's evidence allows for the sum of all waits between
// attempts. Each wait starts at the end of an attempt and ends with the next request.
func (s agentSources) largestBackoffError(attempts []bench.Attempt, near neighborInstants) (worst time.Duration) {
	if !s.events {
		// The pod's status shows each failed pull only some time after the failure. No evidence shows when the kubelet
		// requested the pulls. An agent without Events knows only that each wait contains the kubelet's back-off (see
		// leastBackoff). The part of a wait that exceeds the back-off could also belong to a pull.
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

// pluginTime returns the part of an attempt that the agent cannot distinguish from the run of a credential plugin. A
// plugin runs before the runtime gets the request, so it ends before the image's manifest arrives. Only the runtime's
// stores show when the manifest arrived. Only the durations in the kubelet's Events include the plugin's time. The
// period that the kubelet measures ends shortly before the kubelet creates the Event.
func (j *pullJudge) pluginTime(a bench.Attempt) time.Duration {
	switch {
	case !j.stack.Kubernetes.PullsMayHidePlugins() || !j.sources.events:
		return 0
	case j.sources.runtime && !a.ResolvedAt.IsZero():
		return max(0, a.ResolvedAt.Sub(a.Call.StartAt))
	}
	return a.ReportedAt.Sub(a.Call.StartAt)
}

// tolerance returns the largest allowed difference between a reported duration of the attempt and the truth. If
// the agent has all sources and its evidence is exact, the result is the constant "exact". If a source is missing or
// the evidence is not exact, tolerance adds the agent's error bound to the constant "exact". The agent's error
// bound must not exceed the error bound that the agent's evidence allows.
//
// An agent that cannot rule out a credential plugin is allowed to state a larger error bound. Such an error bound does
// not increase the tolerance, because the true duration of a pull in the lab never includes a plugin's run.
func (j *pullJudge) tolerance(what string, stated json.Number, a bench.Attempt, worst time.Duration) time.Duration {
	if j.sources.isFull() && worst == 0 {
		return exact
	}
	bound, err := agent.Nanoseconds(stated)
	if err != nil {
		return exact
	}
	return exact + min(j.capped(what, bound, max(worst, j.pluginTime(a))), worst+exact)
}

func (j *pullJudge) capped(what string, stated, worst time.Duration) time.Duration {
	if stated > worst+exact { // durations in the logs can be wrong by up to the constant "exact"
		j.verdict.Problem("%s: the agent states an error bound of %s, but its evidence allows at most %s", what,
			seconds(stated), seconds(worst))
		return worst
	}
	return stated
}
