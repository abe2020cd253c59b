package reconcile

import (
	"slices"
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// terminatingPod follows a pod from its deletion request until the pod's object is removed.
type terminatingPod struct {
	evidence  *timeline.TerminationEvidence
	queriedAt time.Time // time of the last query to the runtime
}

// observeTermination follows the termination of a pod. observeTermination begins with the first pod object that has a
// deletion timestamp. If a pod object adds evidence, the next query to the runtime does not wait for the query
// interval, because the kubelet soon removes stopped containers.
func (r *Reconciler) observeTermination(p *pod, o timeline.Observation) {
	news := r.applyToTermination(p, o)
	if p.terminating == nil {
		return
	}
	if news {
		r.reportChanged(o.PodUID())
	}
	if r.config.Saver != nil && (p.evidence == nil || p.reported) && outlivesAgent(o) {
		r.config.Saver.ObserveTermination(o, news)
	}
	if _, object := o.(timeline.PodSeen); object && news {
		p.terminating.queriedAt = time.Time{}
	}
	r.advanceTermination(p)
}

// applyToTermination applies an observation to the evidence of the pod's termination. When the first pod object with a
// deletion timestamp arrives, applyToTermination creates the evidence. applyToTermination reports whether the
// observation was new.
func (r *Reconciler) applyToTermination(p *pod, o timeline.Observation) (news bool) {
	if p.terminating != nil {
		return p.terminating.evidence.Apply(o)
	}
	if !r.config.Optional.Terminations {
		return false
	}
	evidence := timeline.NewTerminationEvidence(o)
	if evidence == nil {
		return false
	}
	r.clockLog.ApplyTo(evidence, o.(timeline.PodSeen))
	p.terminating = &terminatingPod{evidence: evidence}
	r.terminations++
	return true
}

// outlivesAgent reports whether the agent must save an observation for the next agent. outlivesAgent returns false if
// the observation is a runtime response with a ready sandbox and without an ended container. The next agent can get the
// same facts from the runtime.
func outlivesAgent(o timeline.Observation) bool {
	response, ok := o.(timeline.RuntimeSeen)
	return !ok || slices.ContainsFunc(response.Containers, func(c timeline.ContainerRun) bool {
		return !c.FinishedAt.IsZero()
	}) ||
		!slices.ContainsFunc(response.Sandboxes, func(s timeline.Sandbox) bool { return s.Ready })
}

// advanceTermination queries the runtime about a pod that is being deleted. While changes are likely, the agent sends
// these queries more often.
func (r *Reconciler) advanceTermination(p *pod) {
	if p.terminating == nil {
		return
	}
	now, every := r.config.Now(), p.terminating.evidence.QueryInterval(r.config.Now())
	if every == 0 || now.Sub(p.terminating.queriedAt) < every {
		return
	}
	p.terminating.queriedAt = now
	r.requestRuntime(p.terminating.evidence.Pod(), timeline.Requests{})
}

// terminationAt returns the pod's termination at the given time. terminationAt returns nil if the agent has not seen a
// deletion request, or if the agent does not follow terminations.
func (p *pod) terminationAt(now time.Time, skew timeline.Skew) *timeline.Termination {
	if p.terminating == nil {
		return nil
	}
	t := p.terminating.evidence.Termination(now, skew)
	return &t
}

// terminate reports the termination of a pod whose object was removed.
func (r *Reconciler) terminate(p *pod, gone timeline.Timeline) {
	if p.terminating == nil {
		return
	}
	r.terminations--
	r.config.Report(Report{Kind: Terminated, Timeline: gone})
}
