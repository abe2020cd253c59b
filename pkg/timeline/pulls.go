package timeline

import (
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

// pullClaims dates what an image's Events tell together: the end of every failed attempt, and for
// the one that succeeded its end and, by the durations in its message, its start.
func (e *Evidence) pullClaims(index int16) []claim {
	evidence := &e.containers[index]
	var claims []claim
	for i, f := range evidence.failures {
		claims = append(claims, f.claim(markKey{index, uint16(i), MarkPullFailed}))
	}
	p := evidence.pulled
	if !p.known() {
		return claims
	}
	final := e.finalPull(index)
	claims = append(claims, p.claim(markKey{index, final, MarkPullFinished}))
	// Kubelet cuts durations to a unit, so the truth is up to that much longer.
	ago := func(m Mark, d time.Duration, slack instant) claim {
		return claim{markKey{index, final, m}, originEventDuration, leanLatest,
			p.earliest - instant(d+p.message.Unit) - slack, p.latest - instant(d)}
	}
	if p.message.Timed {
		claims = append(claims, ago(MarkPullStarted, p.message.Pull, 0))
	}
	if p.message.WaitingTimed {
		// The length begins right after the Pulling Event, which is the request.
		claims = append(claims, ago(MarkPullRequested, p.message.Waiting, eventSlack))
	}
	return claims
}

// finalPull is the number of the attempt that succeeded, or goes on: one more than failed, or the
// last one asked for.
func (e *Evidence) finalPull(index int16) uint16 {
	final := clampAttempt(len(e.containers[index].failures))
	for _, c := range e.claims {
		if c.key.container == index && c.key.mark == MarkPullRequested {
			final = max(final, c.key.attempt)
		}
	}
	return final
}

// pullAttempt is how one attempt to get a container's image ended.
type pullAttempt struct {
	attempt uint16
	outcome imagepull.Outcome
}

// end is the mark at which the attempt is over.
func (a pullAttempt) end() Mark {
	if a.outcome == imagepull.OutcomeFailed {
		return MarkPullFailed
	}
	return MarkPullFinished
}

// attemptsOf lists every attempt to get the container's image, oldest first.
func (f *fold) attemptsOf(c Container) []pullAttempt {
	index := f.index(c.Name)
	final := f.e.finalPull(index)
	attempts := make([]pullAttempt, 0, int(final)+1)
	for n := range final {
		attempts = append(attempts, pullAttempt{n, imagepull.OutcomeFailed})
	}
	return append(attempts, pullAttempt{final, lastOutcome(f, c, index, final)})
}

// appendPulls adds what is known of every attempt to get the container's image.
func (f *fold) appendPulls(pulls []Pull, c Container) []Pull {
	evidence := &f.e.containers[f.index(c.Name)]
	for _, a := range f.attemptsOf(c) {
		pulls = append(pulls, f.pull(c, evidence.registryOf(c.Image), a))
	}
	last := &pulls[len(pulls)-1]
	if image := f.e.image(c.Image); image != nil {
		last.Digest, last.SizeBytes = image.last.Digest, image.last.SizeBytes
	}
	if evidence.pulled.message.SizeBytes > 0 {
		last.SizeBytes = evidence.pulled.message.SizeBytes
	}
	return pulls
}

// lastOutcome decides how the last attempt ended, from what was seen only.
func lastOutcome(f *fold, c Container, index int16, final uint16) imagepull.Outcome {
	pulled, image := f.e.containers[index].pulled, f.e.image(c.Image)
	there := image != nil && image.Present && image.beforeSandbox
	switch {
	case pulled.present:
		return imagepull.OutcomePresent
	case pulled.known() && there && image.lastAt.After(pulled.latest.time()) && image.Digest != "":
		if image.last.Digest == image.Digest {
			return imagepull.OutcomeVerified
		}
		return imagepull.OutcomeDownloaded
	case pulled.known() && (image != nil && !image.Present || c.PullPolicy == PullIfNotPresent && !there):
		return imagepull.OutcomeDownloaded
	case pulled.known():
		return imagepull.OutcomeUnknown
	case f.bounds.find(markKey{index, final, MarkPullRequested}) != nil &&
		f.bounds.find(markKey{index, 0, MarkContainerCreated}) == nil:
		return imagepull.OutcomePulling
	case there && c.PullPolicy != PullAlways, c.PullPolicy == PullNever:
		return imagepull.OutcomePresent
	case f.e.pulledBefore(image):
		return imagepull.OutcomePresent
	}
	return imagepull.OutcomeUnknown
}

// pulledBefore says that the image's latest pull ended before the pod was here at all.
func (e *Evidence) pulledBefore(image *imageEvidence) bool {
	return image != nil && image.Present && !image.PulledAt.IsZero() && !e.pod.AcknowledgedAt.IsZero() &&
		image.PulledAt.Before(e.pod.AcknowledgedAt)
}

// pull fills in the instants that are known of one attempt.
func (f *fold) pull(c Container, registry string, a pullAttempt) Pull {
	index := f.index(c.Name)
	p := Pull{
		Container: c.Name, Image: c.Image, Registry: registry, Outcome: a.outcome, Attempt: int(a.attempt),
	}
	requested := f.bounds.find(markKey{index, a.attempt, MarkPullRequested})
	started := f.bounds.find(markKey{index, a.attempt, MarkPullStarted})
	finished := f.bounds.find(markKey{index, a.attempt, a.end()})
	var told bound
	for _, b := range []*bound{requested, started, finished} {
		if b != nil {
			told.origins |= b.origins
		}
	}
	p.Sources = told.sources()
	if requested != nil {
		p.RequestedAt = requested.estimate().time()
	}
	if started != nil {
		p.StartedAt = started.estimate().time()
	}
	if finished != nil {
		p.FinishedAt = finished.estimate().time()
	}
	if requested != nil && started != nil && finished != nil && a.outcome != imagepull.OutcomePresent {
		p.Timed = true
		p.Queue, p.Pull = p.StartedAt.Sub(p.RequestedAt), p.FinishedAt.Sub(p.StartedAt)
		p.Error = max(spanError(requested, started), spanError(started, finished))
	}
	return p
}
