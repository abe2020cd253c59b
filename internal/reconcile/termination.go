package reconcile

import (
	"slices"
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// terminating follows a pod from the request to delete it.
type terminating struct {
	evidence *timeline.TerminationEvidence
	askedAt  time.Time // of the last question to the runtime
}

// observeTermination follows the end of a pod, from the first object with a deletion timestamp. A change
// of the object is a reason to query the runtime at once: the kubelet soon removes what has
// stopped.
func (r *Reconciler) observeTermination(p *pod, o timeline.Observation) {
	news := r.applyToTermination(p, o)
	if p.terminating == nil {
		return
	}
	if news {
		r.reportChanged(o.PodUID())
	}
	if r.config.Keeper != nil && (p.evidence == nil || p.reported) && lasts(o) {
		r.config.Keeper.KeepEnd(o, news)
	}
	if _, object := o.(timeline.PodSeen); object && news {
		p.terminating.askedAt = time.Time{}
	}
	r.advanceTermination(p)
}

// applyToTermination starts or continues to follow the end of a pod, and reports whether an observation
// was news to it.
func (r *Reconciler) applyToTermination(p *pod, o timeline.Observation) (news bool) {
	if p.terminating != nil {
		return p.terminating.evidence.Apply(o)
	}
	if !r.config.Follow.Terminations {
		return false
	}
	evidence := timeline.NewTerminationEvidence(o)
	if evidence == nil {
		return false
	}
	p.terminating = &terminating{evidence: evidence}
	r.terminations++
	return true
}

// lasts reports whether the next agent needs an observation. It can query the runtime itself about containers that are
// still running.
func lasts(o timeline.Observation) bool {
	answer, ok := o.(timeline.RuntimeSeen)
	return !ok || slices.ContainsFunc(answer.Containers, func(c timeline.ContainerRun) bool {
		return !c.FinishedAt.IsZero()
	}) ||
		!slices.ContainsFunc(answer.Sandboxes, func(s timeline.Sandbox) bool { return s.Ready })
}

// advanceTermination queries the runtime, more often while changes are likely.
func (r *Reconciler) advanceTermination(p *pod) {
	if p.terminating == nil {
		return
	}
	now, every := r.config.Now(), p.terminating.evidence.AskEvery(r.config.Now())
	if every == 0 || now.Sub(p.terminating.askedAt) < every {
		return
	}
	p.terminating.askedAt = now
	r.askRuntime(p.terminating.evidence.Pod(), timeline.Requests{})
}

// termination returns how the pod ends, as of now; nil if its deletion was not requested, or if
// ends are not followed.
func (p *pod) termination(now time.Time, skew timeline.Skew) *timeline.Termination {
	if p.terminating == nil {
		return nil
	}
	t := p.terminating.evidence.Termination(now, skew)
	return &t
}

// terminate reports the end of a pod whose object was removed.
func (r *Reconciler) terminate(p *pod, gone timeline.Timeline) {
	if p.terminating == nil {
		return
	}
	r.terminations--
	r.config.Report(Report{Kind: Terminated, Timeline: gone})
}
