package timeline

import (
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

// pullAttempt is the result of one attempt to get a container's image.
type pullAttempt struct {
	attempt uint16
	outcome imagepull.Outcome
	failure imagepull.Failure
}

// endMilestone returns the milestone at the end of the attempt.
func (a pullAttempt) endMilestone() Milestone {
	if a.outcome == imagepull.OutcomeFailed {
		return MilestonePullFailed
	}
	return MilestonePullFinished
}

// attemptsOf lists every attempt to get the container's image. The oldest attempt comes first.
func (f *fold) attemptsOf(c *Container) []pullAttempt {
	index := f.index(c.Name)
	evidence := &f.pulls[index]
	attempts := make([]pullAttempt, 0, int(evidence.finalAttempt)+1)
	for n := range evidence.finalAttempt {
		a := pullAttempt{attempt: n, outcome: imagepull.OutcomeUnknown}
		if failed := evidence.failureOf(n); failed != nil {
			a.outcome, a.failure = imagepull.OutcomeFailed, failed.why
		}
		attempts = append(attempts, a)
	}
	return append(attempts, pullAttempt{attempt: evidence.finalAttempt, outcome: lastOutcome(f, c, index)})
}

// appendPulls appends a Pull for every attempt to get the container's image.
func (f *fold) appendPulls(pulls []Pull, c *Container) []Pull {
	index := f.index(c.Name)
	attempts := f.attemptsOf(c)
	last := attempts[len(attempts)-1]
	if last.attempt > 0 && last.outcome == imagepull.OutcomeUnknown && f.e.usedBy(index) == maxInstant {
		attempts = attempts[:len(attempts)-1] // the last attempt has not begun
	}
	for _, a := range f.clearAttempts(c, attempts) {
		pulls = append(pulls, f.pullOf(c, a))
	}
	return f.addImageFacts(pulls, c)
}

// pullOf returns the known facts about one attempt to get the container's image.
func (f *fold) pullOf(c *Container, a pullAttempt) Pull {
	index := f.index(c.Name)
	image, registry := f.imageOfAttempt(c, a.attempt)
	p := Pull{
		Container: c.Name, Kind: c.Kind, Image: image, Registry: registry, Attempt: int(a.attempt),
		Outcome: a.outcome, Failure: a.failure,
		Confirmed:   f.pullConfirmed(c, a.outcome),
		Unconfirmed: a.outcome == imagepull.OutcomeFailed && !f.failureConfirmed(index, a.failure),
	}
	requested := f.bounds.find(milestoneKey{index, a.attempt, MilestonePullRequested})
	started := f.bounds.find(milestoneKey{index, a.attempt, MilestonePullStarted})
	finished := f.bounds.find(milestoneKey{index, a.attempt, a.endMilestone()})
	if response := f.e.image(image); response != nil && !response.Present {
		p.absentAt = at(response.queriedAt)
	}
	f.addLayers(&p, index, a)
	f.addStamp(&p, index, finished)
	var from origins
	for _, b := range [...]*bound{requested, started, finished} {
		if b != nil {
			from |= b.origins
		}
	}
	p.Sources = from.sources()
	if requested != nil {
		p.RequestedAt = requested.estimate().time()
	}
	if started != nil {
		p.StartedAt = started.estimate().time()
	}
	if finished != nil {
		p.FinishedAt = finished.estimate().time()
	}
	if a.outcome == imagepull.OutcomeFailed && requested != nil && finished != nil &&
		!p.FinishedAt.Before(p.RequestedAt) {
		p.Credentials = f.failedCredentialTime(requested, finished)
		p.Error = max(f.spanError(requested, finished), p.Credentials) // one error bound for the sum of Queue and Pull
	}
	if started == nil || finished == nil || a.outcome == imagepull.OutcomePresent || p.FinishedAt.Before(p.StartedAt) {
		return p // nothing was pulled, a time is unknown, or the end is before the start
	}
	if requested != nil && p.StartedAt.Before(p.RequestedAt) {
		return p
	}
	p.Timed, p.Pull, p.Error = true, p.FinishedAt.Sub(p.StartedAt), f.spanError(started, finished)
	p.reportedError, _ = f.reportedError(started, finished)
	p.Credentials = f.credentialTime(started, finished)
	if f.startedBy(index, a.attempt) {
		p.Timed = p.Error <= p.Pull // a duration below its error bound is too uncertain
	} else if requested != nil {
		p.QueueTimed, p.Queue = true, p.StartedAt.Sub(p.RequestedAt)
		p.Error = max(p.Error, f.spanError(requested, started))
	}
	return p
}

// failedCredentialTime returns how long a credential plugin might have run between the request and the failure of a
// pull. Kubelets up to 1.32 run the plugin after the request.
func (f *fold) failedCredentialTime(requested, failed *bound) time.Duration {
	if f.e.kubelet133 {
		return 0
	}
	return max(0, failed.estimate().sub(requested.estimate()))
}

// reportedError returns the error bound of the estimated time between two milestones of a pull, if the kubelet reported
// the duration. The error bound depends only on this duration, on the two milestones, and on the possible run of a
// credential plugin (credentialTime).
func (f *fold) reportedError(from, to *bound) (time.Duration, bool) {
	message, ok := f.reportedLength(from.key, to.key)
	if !ok {
		return 0, false
	}
	// The kubelet reports two durations of a pull: with and without the wait in the queue. Both durations include the
	// delay of the runtime's response. Their difference is the wait in the queue, without this delay.
	reported, delay := message.Pull, max(durationSlack, to.latest.sub(f.earliestSinceCreation(to)))
	if to.key.milestone == MilestonePullStarted {
		reported, delay = message.Waiting-message.Pull, durationSlack
	}
	estimate := to.estimate().sub(from.estimate())
	return withCredentials((estimate-reported).Abs()+message.Unit+delay, f.credentialTime(from, to), estimate), true
}

// addImageFacts adds facts about the image to the last pull, unless this pull failed.
func (f *fold) addImageFacts(pulls []Pull, c *Container) []Pull {
	index := f.index(c.Name)
	last := &pulls[len(pulls)-1]
	if last.Outcome == imagepull.OutcomeFailed {
		return pulls
	}
	if image := f.usedImage(c); image != nil {
		last.Digest, last.SizeBytes = image.last.Digest, image.last.SizeBytes
	}
	last.Lazy = f.isLazy(c)
	if size := f.pulls[index].pulled.lengths.SizeBytes; size > 0 {
		last.SizeBytes = size
	}
	return pulls
}
