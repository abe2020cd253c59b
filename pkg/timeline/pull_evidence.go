package timeline

import (
	"slices"
	"time"
)

// pullEvidence holds the facts about the pulls before a container's first run. Events after the first run concern a
// restart.
type pullEvidence struct {
	refuter
	requests []imageRequest // the requests for an image, from Events that are not refuted
	restarts attemptSet     // the attempts that a restarted kubelet requested, according to Events
	until    instant        // the latest possible time of the pulls; later requests concern a restart of the container

	passed       bool // only Events about later containers show that the container ran; see Evidence.passedBy
	failures     []failedPull
	pulled       pulledEvent
	refuted      bool // the runtime's facts contradict some of the Events
	maybeRestart bool // the first Pulled Event can concern a restart
	// finalAttempt is the attempt that succeeded or is in progress. finalAttempt is the last requested attempt or the
	// attempt after the last failed attempt, whichever is later.
	finalAttempt  uint16
	layers        []Layer // the layers that the pull downloaded; nil if the runtime does not report them
	resumed       bool    // an earlier attempt had begun to download the layers
	layersUndated bool    // the layers' timestamps do not separate the pull's download from its unpacking
	hidesFailure  bool    // an earlier attempt can have failed, although no Event and no status reports the failure
	runtimeEnd    pullEnd // the end of the pull, from the runtime's timestamps
}

// imageRequest is a request to pull an image. The field "image" is textHash of the image.
type imageRequest struct {
	constraint
	image uint64
}

// failedPull is one failed attempt to pull an image.
type failedPull struct {
	failureEvent
	attempt uint16 // set by addFailure
	backoff pullBackoff
}

// pullEvidence returns the facts about the pulls before a container's first run.
func (f *fold) pullEvidence(index int16) pullEvidence {
	e := f.e
	evidence := e.pullEventsOf(index)
	p := pullEvidence{refuter: e.refuter(index)}
	pulled, refuted := p.firstCredible(evidence)
	end := e.usedBy(index)
	if end == maxInstant {
		end = e.anyCreatedBy(index)
	}
	if end == maxInstant && pulled.known() {
		end = e.passedBy(index)
		p.passed = end != maxInstant
	}
	p.refuted = len(refuted) > 0
	switch {
	case pulled.earliest > end:
	case e.mayBeOfRestart(index, pulled):
		p.maybeRestart = true
	case pulled.present && e.createFailureUndated(index) && e.mayMissFirstEvents() &&
		!f.isFirstAttempt(index, pulled.window):
		// The Event about the first attempt to create the container might have expired. So the Pulled Event might
		// concern a later attempt.
	default:
		p.pulled = pulled
	}
	if p.pulled.known() {
		end = min(end, p.pulled.latest)
	}
	p.until = end
	failures := slices.DeleteFunc(e.pullFailures(index, evidence.failures), func(failed failedPull) bool {
		if failed.origin == originArrival &&
			(failed.latest > end || minInstant < pulled.beganAt() && pulled.beganAt() < failed.latest) {
			return true // ignore a late status, which arrived after the successful pull had begun
		}
		refuted := e.refutesFailure(index, p.refuter, pulled, failed.failureEvent) != ""
		p.refuted = p.refuted || refuted
		return refuted || failed.earliest > end || p.pulled.endedBefore(failed.failureEvent)
	})
	first := e.statusFailureBefore(index, end)
	if len(failures) > 0 {
		first = nil
	}
	if own := e.containers[index].requested; first != nil && len(own) > 0 && first.latest < own[0].earliest {
		failures = append(failures, failedPull{failureEvent: *first})
	}
	p.numberAttempts(e, index, failures)
	if first != nil && len(p.failures) == 0 {
		p.failures = append(p.failures, failedPull{failureEvent: *first})
		p.finalAttempt = 1
	}
	for _, c := range p.requests {
		if c.latest <= end || c.key.attempt <= p.finalAttempt && c.earliest <= end {
			p.finalAttempt = max(p.finalAttempt, c.key.attempt)
			if p.pulled.known() && p.pulled.isOfLaterAttempt(c.constraint) {
				p.finalAttempt = max(p.finalAttempt, c.key.attempt+1)
			}
		}
	}
	return p
}

// imageCheckedBy returns the latest possible time of the kubelet's first successful check of a container's image. In a
// successful check, the runtime reports whether it has the image. Before a successful check, the kubelet cannot request
// a pull or use the image. If the time is unknown, imageCheckedBy returns maxInstant.
func (f *fold) imageCheckedBy(index int16) instant {
	p, first := &f.pulls[index], f.e.usedBy(index)
	if len(p.failures) > 0 {
		first = min(first, p.failures[0].latest)
	}
	if p.pulled.known() {
		first = min(first, p.pulled.latest)
	}
	for _, c := range p.requests {
		if c.key.attempt == 0 {
			first = min(first, c.latest)
		}
	}
	return first
}

// pullEventsOf returns the evidence that contains the Events about a container's pulls. Usually, this is the
// container's own evidence. But some Events name only the image and no container. pullEventsOf returns the evidence
// from such Events under two conditions: no Event of the container itself reports a successful or failed pull, and no
// other container uses the image.
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

// isOfLaterAttempt reports whether this Event certainly belongs to a later attempt than the given request. If the Event
// reports that the image was already present, the result is true, because the kubelet requests no pull in such an
// attempt.
func (p pulledEvent) isOfLaterAttempt(request constraint) bool {
	if p.present {
		return true
	}
	return p.lengths.WaitingTimed && request.latest < p.earliest-instant(p.lengths.Waiting+p.lengths.Unit)-eventSlack
}

// pullConstraints converts the evidence about a container's pulls to constraints. Events or statuses show when each
// failed attempt ended. For the end of the successful attempt, the constraints come from an Event and from the
// runtime's timestamps. For the start of the successful attempt, the constraints come from the durations in the Event's
// message.
func pullConstraints(index int16, evidence pullEvidence) []constraint {
	var constraints []constraint
	for _, f := range evidence.failures {
		constraints = append(constraints, f.responseConstraint(milestoneKey{index, f.attempt, MilestonePullFailed}))
	}
	p, final := evidence.pulled, evidence.finalAttempt
	constraints = append(constraints, evidence.endConstraints(milestoneKey{index, final, MilestonePullFinished})...)
	if !p.known() {
		if evidence.passed {
			ran := milestoneKey{index, 0, MilestoneRunning}
			constraints = append(constraints, constraint{ran, originEventName, biasLatest, minInstant, evidence.until})
		}
		return constraints
	}
	// The kubelet truncates the durations in the message to the unit p.lengths.Unit. So a true duration can be up to
	// one unit longer.
	ago := func(m Milestone, d time.Duration, slack instant) constraint {
		return constraint{milestoneKey{index, final, m}, originEventDuration, biasLatest,
			p.earliest - instant(d+p.lengths.Unit) - slack, p.latest - instant(d)}
	}
	if p.lengths.Timed {
		constraints = append(constraints, ago(MilestonePullStarted, p.lengths.Pull, 0))
	}
	if p.lengths.WaitingTimed {
		// The duration p.lengths.Waiting begins immediately after the Pulling Event, which reports the request.
		constraints = append(constraints, ago(MilestonePullRequested, p.lengths.Waiting, eventSlack))
	}
	return constraints
}

// maxRequests limits the lists containerEvidence.requested, containerEvidence.misnamed and containerEvidence.inspected.
// Each list keeps the earliest Events.
const maxRequests = 16

// numberAttempts finds the requests for a container's image, and assigns an attempt number to each request and to each
// failed pull. The kubelet's client keeps the count of a repeated Event in memory (client-go,
// tools/record/events_cache.go). After a restart, the kubelet does not know this count, and creates a new Event with
// the count 1. So a second Event about requests for the same image shows that the kubelet restarted. A second Event
// about another image shows only that the container's image changed. When the restarted kubelet requested the image,
// all earlier attempts had ended, even if no evidence shows their end. If a pull failed before the first known request,
// the Event about the first request is missing. numberAttempts ignores requests after the first maxAttempts attempts.
func (p *pullEvidence) numberAttempts(e *Evidence, index int16, failures []failedPull) {
	own, key := &e.containers[index], milestoneKey{index, 0, MilestonePullRequested}
	first := searchConstraints(e.constraints, key)
	key.milestone++
	repeated := e.constraints[first:searchConstraints(e.constraints, key)]
	for i, w := range own.requested {
		if p.tooEarly(w.latest) != "" {
			p.refuted = true
			continue
		}
		if len(p.requests) > 0 && p.pulled.beganBefore(w.window) {
			break
		}
		for len(failures) > 0 && failures[0].latest < w.earliest {
			p.addFailure(failures[0])
			failures = failures[1:]
		}
		attempt := p.finalAttempt
		for _, c := range p.requests {
			attempt = max(attempt, c.key.attempt+1)
		}
		if attempt >= maxAttempts {
			break
		}
		if attempt > 0 && !p.imageChangedBefore(w) {
			p.restarts = p.restarts.with(attempt)
		}
		request := w.constraint(milestoneKey{index, attempt, MilestonePullRequested})
		p.requests = append(p.requests, imageRequest{request, w.image})
		next := maxInstant
		if i+1 < len(own.requested) {
			next = own.requested[i+1].latest
		}
		for _, c := range repeated {
			if c.key.attempt += attempt; c.key.attempt < maxAttempts && w.latest <= c.latest && c.latest < next {
				p.requests = append(p.requests, imageRequest{c, w.image})
			}
		}
	}
	for _, failed := range failures {
		p.addFailure(failed)
	}
	for _, w := range slices.Concat(own.misnamed, own.inspected) {
		p.refuted = p.refuted || p.tooEarly(w.latest) != ""
	}
}

// imageChangedBefore reports whether the previous request or failure concerns another image than the given request.
func (p *pullEvidence) imageChangedBefore(next requestEvent) bool {
	if n := len(p.failures); n > 0 && p.failures[n-1].image != 0 {
		return p.failures[n-1].image != next.image
	}
	n := len(p.requests)
	return n > 0 && p.requests[n-1].image != next.image
}

// addFailure sets the attempt number of a failed pull, and appends it to the known failures.
func (p *pullEvidence) addFailure(failed failedPull) {
	failed.attempt = max(p.finalAttempt, failed.atLeast)
	for _, c := range p.requests {
		if failed.isAfterRequest(c.constraint) {
			failed.attempt = max(failed.attempt, c.key.attempt) // an earlier attempt failed without an Event
		}
	}
	p.failures, p.finalAttempt = append(p.failures, failed), failed.attempt+1
}

// failureOf returns the failure of an attempt, or nil if the attempt did not fail.
func (p *pullEvidence) failureOf(attempt uint16) *failedPull {
	for i := range p.failures {
		if p.failures[i].attempt == attempt {
			return &p.failures[i]
		}
	}
	return nil
}

// attemptOfCheck returns the number of the pull attempt that came after a failed check of the image. A check fails if
// the kubelet cannot parse the image's name, or if the runtime cannot report whether it has the image. The argument "o"
// is the origin of the evidence of the failed check. The argument "by" is the latest possible time of this failed
// check. If the check is later than the container's creation or a successful pull, the check belongs to a restart, so
// the attempt is unknown.
func (f *fold) attemptOfCheck(index int16, o origin, by instant) (attempt uint16, known bool) {
	if by <= f.imageCheckedBy(index) {
		return 0, true
	}
	p := &f.pulls[index]
	if by > f.e.usedBy(index) || p.pulled.known() && by > p.pulled.latest {
		return 0, false
	}
	for _, failed := range p.failures {
		after := failed.latest
		if o == originArrival {
			after += instant(nextSyncLeast) // the status can report a check that came before this attempt
		}
		if after < by {
			attempt, known = max(attempt, failed.attempt+1), true
		}
	}
	for _, c := range p.requests {
		if c.key.attempt >= attempt && c.latest < by {
			return 0, false // no evidence shows the end of this attempt
		}
	}
	return attempt, known
}

// checkConstraints returns the times of the failed checks of a container's image. A check fails if the kubelet cannot
// parse the image's name, or if the runtime does not report whether it has the image. For each pull attempt, the result
// contains the first failure of each kind.
func (f *fold) checkConstraints(index int16) (constraints []constraint) {
	first := func(windows []window, m Milestone) {
		next := uint16(0)
		for _, w := range windows {
			attempt, known := f.attemptOfCheck(index, w.origin, w.latest)
			if known && attempt >= next && f.pulls[index].tooEarly(w.latest) == "" {
				constraints = append(constraints, w.constraint(milestoneKey{index, attempt, m}))
				next = attempt + 1
			}
		}
	}
	first(f.e.containers[index].misnamed, MilestoneNameRefused)
	first(f.e.containers[index].inspected, MilestoneInspectFailed)
	return constraints
}
