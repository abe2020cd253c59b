package timeline

import (
	"slices"
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

// backoffForgotten is twice the longest back-off. If no further pull fails for this time, the kubelet forgets its
// back-off (client-go, flowcontrol/backoff.go).
const backoffForgotten = 10 * time.Minute

// longestBackoffAfter is the number of failed pulls after which the kubelet's back-off no longer grows.
const longestBackoffAfter = 6

// pullBackoff is the kubelet's back-off after a failed pull.
type pullBackoff struct {
	least time.Duration // the shortest wait; zero if the kubelet might have lost its back-off
	most  time.Duration // the longest expected wait until the next attempt
}

// pullFailures returns the failed pulls of a container in order of time. Events report some of the failures, and only
// statuses report the others.
func (e *Evidence) pullFailures(index int16, reported []failureEvent) []failedPull {
	all := slices.Clone(reported)
	first, later := e.statusFailuresOf(index)
	for _, f := range later {
		if !slices.ContainsFunc(reported, func(event failureEvent) bool {
			return event.latest >= f.earliest && event.earliest <= f.latest
		}) {
			all = append(all, f)
		}
	}
	slices.SortFunc(all, failureEvent.compare)
	if len(all) == 0 {
		return nil
	}
	// The kubelet's client might have dropped the Event about the first failure. Then only the first status with a
	// failed pull shows this failure.
	if first != nil && first.isBefore(all[0]) {
		f := *first
		if f.bias == biasLatest {
			f.bias = biasNextSync
		}
		all = slices.Insert(all, 0, f)
	}
	c := e.specOf(index)
	sole := c != nil && e.onlyContainerWith(c.Image) != nil // if false, other containers can share this back-off
	countsAll := func(f failureEvent) bool { return sole && e.requestsBy(index, f.latest) == int(f.atLeast)+1 }
	fromStart := sole && e.firstSeen.live && !e.mayMissFirstEvents() &&
		all[0].origin != originArrival && (!e.eventLimitReached() || countsAll(all[0]))
	failures := e.containers[index].withBackoffs(all, fromStart, countsAll)
	if e.pod.mayCrashLoop() {
		for i := range failures {
			// A container of the pod has exited and might be in back-off. In Kubernetes 1.35 and later, the next sync
			// of the pod waits until this back-off is over (pod_workers.go, completeWork).
			failures[i].backoff.most += resync - podRetry
		}
	}
	return failures
}

// mayCrashLoop reports whether a container of the pod has exited and might now be in back-off.
func (p *Pod) mayCrashLoop() bool {
	for i := range p.Containers {
		if p.Containers[i].mayCrashLoop() {
			return true
		}
	}
	return false
}

// mayCrashLoop reports whether the container has exited and might now be in back-off.
func (c *Container) mayCrashLoop() bool {
	return c.WaitingReason == crashLoop || c.LastRun != nil || c.Kind != KindInit && c.State == StateTerminated
}

// requestsBy returns the number of pulls that the kubelet requested for a container up to an instant. The number comes
// from the Pulling Events and their counts.
func (e *Evidence) requestsBy(index int16, by instant) (n int) {
	for _, first := range e.containers[index].requested {
		if first.earliest <= by {
			n = 1
		}
	}
	for _, c := range e.constraints {
		if c.key.container == index && c.key.milestone == MilestonePullRequested &&
			c.origin == originEventSecond && c.earliest <= by {
			n = max(n, int(c.key.attempt)+1)
		}
	}
	return n
}

// withBackoffs adds the kubelet's back-off to each failed pull. For failures that only statuses report, withBackoffs
// also narrows the interval of possible times. After a failure, the kubelet begins no attempt until the back-off is
// over. Unknown failures can only make the back-off longer. So the back-off that follows from the known failures is a
// lower bound. The kubelet keeps one back-off in memory for each image of a pod.
//
// No pull can fail during a back-off. If a status with a failure arrives during a back-off, the status is late. Such a
// status reports the failure from before the back-off.
//
// The argument fromStart is true if the first known failure is certainly the container's first failure. The count of an
// Event includes only failures with the same message, so the count can be too low. The function countsAll reports
// whether the count of an Event includes all failures.
func (c *containerEvidence) withBackoffs(
	failures []failureEvent, fromStart bool, countsAll func(failureEvent) bool,
) []failedPull {
	all := make([]failedPull, 0, len(failures))
	// The kubelet can lose its back-off state. count is the number of known failures since the last possible loss.
	// exact is true if count certainly equals the kubelet's own count of failures. After a possible loss, the counts in
	// the Events might include failures from before the loss, so counted is false.
	count, exact, counted := 0, fromStart, true
	for _, f := range failures {
		if len(all) > 0 {
			before := &all[len(all)-1]
			due, apart := before.earliest+instant(before.backoff.least), f.latest.sub(before.earliest)
			if f.origin == originArrival && f.latest < due {
				continue
			}
			switch {
			case f.latest < due || apart >= backoffForgotten:
				count, exact, counted = 0, false, false
			case f.origin == originArrival:
				f.earliest = max(f.earliest, due)
			}
			exact = exact && apart < imagepull.Backoff(count)+imagepull.Backoff(count+1)
		}
		next := failedPull{failureEvent: f}
		if c.imageChanged() || c.statusGapAt > f.latest+instant(statusPatience) {
			count, exact, counted = 0, false, false
		} else {
			count++
			if counted && count < int(f.atLeast)+1 {
				count, exact = int(f.atLeast)+1, countsAll(f)
			}
			next.backoff = pullBackoff{imagepull.Backoff(count), maxBackoff(PhaseImageBackoff, longestBackoffAfter)}
			if exact {
				next.backoff.most = maxBackoff(PhaseImageBackoff, count)
			}
		}
		all = append(all, next)
	}
	return all
}

// mayHidePulls reports whether unknown pulls might have failed between a milestone and the instant "until". No received
// Event or status shows such a pull. The argument w holds the possible phases between the milestone and "until". A
// kubelet that restarts forgets its back-off and can request the image again. So if Events about pull requests were
// lost, an unknown pull is possible.
func (f *fold) mayHidePulls(from *bound, until instant, w phaseCandidates) bool {
	index := f.index(w.container)
	if w.phases[0] != PhaseImageBackoff || index == podWide {
		return false
	}
	p, lasted, failures := &f.pulls[index], until.sub(from.estimate()), int(w.attempt)
	switch {
	case slices.Contains(w.phases, PhaseKubeletSync):
		return !f.knowsAllEvents() || p.requestLost()
	case w.attempt == p.finalAttempt && p.finalRequestLost():
		return lasted > imagepull.Backoff(failures)
	}
	return lasted > maxBackoff(PhaseImageBackoff, failures) && !f.knowsAllEvents()
}

// requestLost reports whether a pull ended without an Event about its request. If the Event about the request was lost,
// the agent can have missed other Events too.
func (p *pullEvidence) requestLost() bool {
	return p.finalRequestLost() ||
		slices.ContainsFunc(p.failures, func(f failedPull) bool { return !p.requested(f.attempt) })
}

// finalRequestLost reports whether a pull succeeded without an Event about its request.
func (p *pullEvidence) finalRequestLost() bool {
	return p.pulled.known() && !p.pulled.present && !p.requested(p.finalAttempt)
}

func (p *pullEvidence) requested(attempt uint16) bool {
	return slices.ContainsFunc(p.requests, func(c imageRequest) bool { return c.key.attempt == attempt })
}

// knowsAllEvents reports whether the agent received all Events that the kubelet created for the pod. Missing Created
// and Started Events do not matter, because podlapse takes no milestones from them.
func (f *fold) knowsAllEvents() bool {
	return f.e.firstSeen.live && f.e.eventsMissedUntil() == 0 && !f.e.mayHaveMissedEvents(f.asOf) &&
		!f.e.eventLimitReached()
}

// withHiddenPulls adds PhasePullQueue and PhasePull to the possible phases in w, because the time can contain pulls
// that no evidence shows.
func withHiddenPulls(w phaseCandidates) phaseCandidates {
	w.phases = uniquePhases(w.phases, []Phase{PhasePullQueue, PhasePull})
	return w
}

// appendSpan appends the phase between two milestones. After a failed pull, further pulls might follow at unknown
// times. In this case, appendSpan appends two phases. The first phase is the back-off until the kubelet's next attempt
// was due. The second phase is the remaining time. If no pull succeeded and at most podRetry+retrySlack remains after
// the shortest back-off, appendSpan appends only the back-off. The error bound of the back-off then includes the
// remaining time.
func (f *fold) appendSpan(spans []Span, from, to *bound, until instant, w phaseCandidates) []Span {
	b, length := f.backoffAfter(from, w), until.sub(from.estimate())
	open := to.origins == 0 // no milestone ended the phase
	undated := len(w.phases) > 1 || open && !f.knowsAllEvents() || f.mayHidePulls(from, until, w)
	if b.least == 0 || !undated {
		s := f.span(from, to, until, w)
		if undated && open && s.Phase == PhaseImageBackoff {
			s.Error = max(s.Error, length) // the kubelet might have begun an attempt at any time
		}
		return append(spans, s)
	}
	wait := phaseCandidates{[]Phase{PhaseImageBackoff}, w.container, from.key.attempt + 1}
	if length <= b.least+podRetry+retrySlack && (open || to.key.milestone == MilestonePullFailed) {
		s := f.span(from, to, until, wait)
		s.Error = max(s.Error, length-b.least)
		return append(spans, s)
	}
	if length <= b.least {
		return append(spans, f.span(from, to, until, w))
	}
	due := b.nextAttempt(from, to, until)
	return append(spans, f.span(from, due, due.estimate(), wait), f.span(due, to, until, withHiddenPulls(w)))
}

// backoffAfter returns the kubelet's back-off after the milestone "from". The result is zero if the milestone is not a
// failed pull. The result is also zero if the possible phases in w include one that is neither PhaseImageBackoff nor a
// part of a pull.
func (f *fold) backoffAfter(from *bound, w phaseCandidates) pullBackoff {
	if from.key.milestone != MilestonePullFailed || w.phases[0] != PhaseImageBackoff ||
		f.name(from.key) != w.container || slices.ContainsFunc(w.phases, isNoPull) {
		return pullBackoff{}
	}
	if failed := f.pulls[from.key.container].failureOf(from.key.attempt); failed != nil {
		return failed.backoff
	}
	return pullBackoff{}
}

// nextAttempt returns the time of the kubelet's next attempt after a failed pull. The kubelet makes this attempt at the
// next sync after the back-off. The argument "to" is the next known milestone. The estimate of the returned bound is
// earlier than the instant "until".
func (b pullBackoff) nextAttempt(from, to *bound, until instant) *bound {
	next := milestoneKey{from.key.container, from.key.attempt + 1, MilestonePullRequested}
	due := &bound{key: next, origins: from.origins}
	due.earliest = from.earliest + instant(b.least)
	due.latest = max(due.earliest, min(to.latest, from.latest+instant(b.most)))
	due.notBefore = from.estimate() + instant(b.least)
	if usual := due.notBefore + instant(podRetry/2); usual < until {
		due.notBefore = usual
	}
	due.notAfter = due.notBefore
	return due
}

// isNoPull returns false for the phases of repeated attempts to pull an image. For all other phases, it returns true.
func isNoPull(p Phase) bool {
	return p != PhaseImageBackoff && p != PhasePullQueue && p != PhasePull && p != PhaseUnpack
}

// hiddenPullsFrom returns the instant after which the kubelet might have begun a pull that no evidence shows. The error
// bound of the current phase grows from the returned instant on. hiddenPullsFrom returns maxInstant if the current
// phase cannot contain a hidden pull.
func (f *fold) hiddenPullsFrom(phases []Span) instant {
	last := phases[len(phases)-1]
	switch {
	case last.Phase == PhaseImageBackoff && !f.knowsAllEvents():
		w := phaseCandidates{[]Phase{PhaseImageBackoff}, last.Container, clampAttempt(last.Attempt)}
		return at(last.StartAt) + instant(f.backoffAfter(f.open, w).least)
	case last.Phase == PhaseUnattributed && slices.Contains(last.MergedWith, PhaseImageBackoff):
		return at(last.StartAt)
	}
	return maxInstant
}
