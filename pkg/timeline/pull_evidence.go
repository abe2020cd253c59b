package timeline

import (
	"slices"
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

// pullEvidence is what Events tell of the pulls before a container's first run; what came after
// belongs to a restart.
type pullEvidence struct {
	refuter
	firstRequest  constraint // the first request for the image, by an Event; zero where none tells
	laterRequests []constraint

	failures      []failedPull
	pulled        pulledEvent
	refuted       bool    // some Events count for nothing
	maybeRestart  bool    // there is such an Event, which may be about a restart
	finalAttempt  uint16  // the attempt that succeeded or goes on: one more than failed, or the last one asked for
	layers        []Layer // that came with it; nil when the runtime does not tell
	resumed       bool    // an attempt before it had begun to bring them
	layersUndated bool    // others may have come with it, but the runtime does not tell when
	runtimeEnd    pullEnd // when it ended, by the runtime's stamps
}

// failedPull is a failure with its number.
type failedPull struct {
	window
	attempt uint16
	why     imagepull.Failure
}

func (e *Evidence) pullEvidence(index int16) pullEvidence {
	evidence := e.pullEventsOf(index)
	end := e.usedBy(index)
	p := pullEvidence{refuter: e.refuter(index)}
	pulled, refuted := p.firstCredible(evidence)
	p.refuted = len(refuted) > 0
	switch {
	case pulled.earliest > end:
	case e.mayBeOfRestart(index, pulled):
		p.maybeRestart = true
	default:
		p.pulled = pulled
	}
	if p.pulled.known() {
		end = min(end, p.pulled.latest)
	}
	p.findRequests(e, index)
	for _, f := range evidence.failures {
		if e.refutesFailure(index, p.refuter, pulled, f) != "" {
			p.refuted = true
			continue
		}
		if f.earliest <= end {
			attempt := max(p.finalAttempt, f.atLeast)
			for c := range p.requests {
				if c.latest < f.earliest {
					attempt = max(attempt, c.key.attempt) // one before it failed untold
				}
			}
			p.failures = append(p.failures, failedPull{f.window, attempt, f.why})
			p.finalAttempt = attempt + 1
		}
	}
	if f := e.containers[index].statusFailure; len(p.failures) == 0 && f != nil && f.latest <= end {
		p.failures = append(p.failures, failedPull{f.window, 0, f.why})
		p.finalAttempt = 1
	}
	for c := range p.requests {
		if c.latest <= end || c.key.attempt <= p.finalAttempt && c.earliest <= end {
			p.finalAttempt = max(p.finalAttempt, c.key.attempt)
			if p.pulled.known() && p.pulled.before(c) {
				p.finalAttempt = max(p.finalAttempt, c.key.attempt+1)
			}
		}
	}
	return p
}

// mayBeOfRestart says that the kubelet's word that an image was there may as well be about the second run of a container, since
// nobody tells to the nanosecond when the first one was made. Then the kubelet's word about that one was lost.
func (e *Evidence) mayBeOfRestart(index int16, p pulledEvent) bool {
	if !p.present || p.latest <= e.createdSince(index) {
		return false
	}
	return slices.ContainsFunc(e.constraints, func(c constraint) bool {
		return c.key.container == index && c.key.attempt > 0 && (c.key.mark == MarkContainerCreated || c.key.mark == MarkRunning)
	})
}

// imageCheckedBy is when at the latest the runtime had said whether it has a container's image: the kubelet had asked for a pull,
// or used it. It is maxInstant while nothing tells.
func (f *fold) imageCheckedBy(index int16) instant {
	p, first := &f.pulls[index], f.e.usedBy(index)
	if len(p.failures) > 0 {
		first = min(first, p.failures[0].latest)
	}
	if p.pulled.known() {
		first = min(first, p.pulled.latest)
	}
	for c := range p.requests {
		if c.key.attempt == 0 {
			first = min(first, c.latest)
		}
	}
	return first
}

// pullEventsOf is whose Events tell of a container's pulls: its own, or those that tell of its image alone, if no
// other container has that image.
func (e *Evidence) pullEventsOf(index int16) *containerEvidence {
	own := &e.containers[index]
	if own.pulled.known() || len(own.failures) > 0 {
		return own
	}
	var image string
	if c := e.specOf(index); c != nil {
		image = c.Image
	}
	shared := 0
	for i := range e.pod.Containers {
		if e.pod.Containers[i].Image == image {
			shared++
		}
	}
	for i := range e.containers {
		if shared == 1 && e.containers[i].name == ImageName(image) {
			return &e.containers[i]
		}
	}
	return own
}

// before says that the image that is there was not got by the request, but by a later one or none at all: the
// attempt in between failed, and nothing told of that.
func (p pulledEvent) before(request constraint) bool {
	if p.present {
		return true
	}
	return p.lengths.WaitingTimed && request.latest < p.earliest-instant(p.lengths.Waiting+p.lengths.Unit)-eventSlack
}

// pullConstraints dates what a container's Events tell together: the end of every failed attempt, and for
// the one that succeeded its end and, by the durations in its message, its start.
func pullConstraints(index int16, evidence pullEvidence) []constraint {
	var constraints []constraint
	for _, f := range evidence.failures {
		constraints = append(constraints, f.constraint(markKey{index, f.attempt, MarkPullFailed}))
	}
	p, final := evidence.pulled, evidence.finalAttempt
	constraints = append(constraints, evidence.endConstraints(markKey{index, final, MarkPullFinished})...)
	if !p.known() {
		return constraints
	}
	// The kubelet cuts durations to a unit, so the truth is up to that much longer.
	ago := func(m Mark, d time.Duration, slack instant) constraint {
		return constraint{markKey{index, final, m}, originEventDuration, leanLatest,
			p.earliest - instant(d+p.lengths.Unit) - slack, p.latest - instant(d)}
	}
	if p.lengths.Timed {
		constraints = append(constraints, ago(MarkPullStarted, p.lengths.Pull, 0))
	}
	if p.lengths.WaitingTimed {
		// The length begins right after the Pulling Event, which is the request.
		constraints = append(constraints, ago(MarkPullRequested, p.lengths.Waiting, eventSlack))
	}
	return constraints
}

// maxRequests is how many Events of one container that say that the kubelet asked for the first pull are kept, the earliest, and
// how many that say that the runtime did not tell whether it has the image.
const maxRequests = 16

// findRequests finds those for a container's image, the first by its first word that nothing refutes.
func (p *pullEvidence) findRequests(e *Evidence, index int16) {
	own, key := &e.containers[index], markKey{index, 0, MarkPullRequested}
	for _, w := range own.requested {
		switch {
		case p.tooEarly(w.latest) != "":
			p.refuted = true
		case p.firstRequest == constraint{}:
			p.firstRequest = w.constraint(key)
		}
	}
	for _, w := range own.inspected {
		p.refuted = p.refuted || p.tooEarly(w.latest) != ""
	}
	key.mark++
	p.laterRequests = e.constraints[searchConstraints(e.constraints, markKey{index, 0, MarkPullRequested}):searchConstraints(e.constraints, key)]
}

// requests are those for a container's image that nothing refutes, whatever came of them.
func (p *pullEvidence) requests(yield func(constraint) bool) {
	if p.firstRequest != (constraint{}) && !yield(p.firstRequest) {
		return
	}
	for _, c := range p.laterRequests {
		if p.tooEarly(c.latest) == "" && !yield(c) {
			return
		}
	}
}

// inspectConstraints date that the runtime did not say whether it has a container's image, the first time, before anything was pulled.
func (f *fold) inspectConstraints(index int16) []constraint {
	for _, w := range f.e.containers[index].inspected {
		if w.latest <= f.imageCheckedBy(index) && f.pulls[index].tooEarly(w.latest) == "" {
			return []constraint{w.constraint(markKey{index, 0, MarkInspectFailed})}
		}
	}
	return nil
}
