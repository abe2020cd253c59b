package timeline

import (
	"slices"
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

// pullEvidence is what Events tell of the pulls before a container's first run; what came after
// belongs to a restart.
type pullEvidence struct {
	failures []failedPull
	pulled   pulledEvent
	final    uint16 // the attempt that succeeded or goes on: one more than failed, or the last one asked for
}

// failedPull is a failure with its number.
type failedPull struct {
	window
	attempt uint16
}

func (e *Evidence) pullEvidence(index int16) pullEvidence {
	evidence := &e.containers[index]
	end := maxInstant
	for _, c := range e.claims {
		if c.key == (markKey{index, 0, MarkContainerCreated}) || c.key == (markKey{index, 0, MarkRunning}) {
			end = min(end, c.latest)
		}
	}
	var p pullEvidence
	if evidence.pulled.earliest <= end {
		p.pulled = evidence.pulled
	}
	if p.pulled.known() {
		end = min(end, p.pulled.latest)
	}
	for _, f := range evidence.failures {
		if f.earliest <= end {
			attempt := max(p.final, f.atLeast)
			for _, c := range e.claims {
				if c.key.container == index && c.key.mark == MarkPullRequested && c.latest < f.earliest {
					attempt = max(attempt, c.key.attempt) // one before it failed untold
				}
			}
			p.failures = append(p.failures, failedPull{f.window, attempt})
			p.final = attempt + 1
		}
	}
	for _, c := range e.claims {
		if c.key.container == index && c.key.mark == MarkPullRequested && (c.latest <= end || c.key.attempt <= p.final && c.earliest <= end) {
			p.final = max(p.final, c.key.attempt)
			if p.pulled.known() && p.pulled.before(c) {
				p.final = max(p.final, c.key.attempt+1)
			}
		}
	}
	return p
}

// before says that the image that is there was not got by the request, but by a later one or none at all: the
// attempt in between failed, and nothing told of that.
func (p pulledEvent) before(request claim) bool {
	if p.present {
		return true
	}
	return p.message.WaitingTimed && request.latest < p.earliest-instant(p.message.Waiting+p.message.Unit)-eventSlack
}

// pullClaims dates what a container's Events tell together: the end of every failed attempt, and for
// the one that succeeded its end and, by the durations in its message, its start.
func pullClaims(index int16, evidence pullEvidence, image *imageEvidence, ran bool) []claim {
	var claims []claim
	for _, f := range evidence.failures {
		claims = append(claims, f.claim(markKey{index, f.attempt, MarkPullFailed}))
	}
	p, final := evidence.pulled, evidence.final
	finished := markKey{index, final, MarkPullFinished}
	if image != nil && (p.known() || ran) {
		// The runtime stores an image before it answers the pull. Later stamps may be of others' pulls.
		stored := image.last.FirstPulledAt
		if p.known() && !image.last.PulledAt.IsZero() && at(image.last.PulledAt) <= p.latest {
			stored = image.last.PulledAt
		}
		if !stored.IsZero() {
			claims = append(claims, claim{finished, originStore, leanNone, at(stored), maxInstant})
		}
	}
	if !p.known() {
		return claims
	}
	claims = append(claims, p.claim(finished))
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
func (f *fold) attemptsOf(c *Container) []pullAttempt {
	index := f.index(c.Name)
	evidence := f.pulls[index]
	attempts := make([]pullAttempt, 0, int(evidence.final)+1)
	for n := range evidence.final {
		outcome := imagepull.OutcomeUnknown
		if slices.ContainsFunc(evidence.failures, func(f failedPull) bool { return f.attempt == n }) {
			outcome = imagepull.OutcomeFailed
		}
		attempts = append(attempts, pullAttempt{n, outcome})
	}
	return append(attempts, pullAttempt{evidence.final, lastOutcome(f, c, index)})
}

// appendPulls adds what is known of every attempt to get the container's image.
func (f *fold) appendPulls(pulls []Pull, c *Container) []Pull {
	index := f.index(c.Name)
	registry := f.e.containers[index].registryOf(c.Image)
	for _, a := range f.attemptsOf(c) {
		pulls = append(pulls, f.pull(c, registry, a))
	}
	last := &pulls[len(pulls)-1]
	if image := f.e.image(c.Image); image != nil {
		last.Digest, last.SizeBytes = image.last.Digest, image.last.SizeBytes
	}
	if size := f.pulls[index].pulled.message.SizeBytes; size > 0 {
		last.SizeBytes = size
	}
	return pulls
}

// lastOutcome decides how the last attempt ended, from what was seen only.
func lastOutcome(f *fold, c *Container, index int16) imagepull.Outcome {
	pulled, final, image := f.pulls[index].pulled, f.pulls[index].final, f.e.image(c.Image)
	there := image != nil && image.Present && image.beforeSandbox
	switch {
	case pulled.present:
		return imagepull.OutcomePresent
	case pulled.known() && there && image.lastAt.After(pulled.latest.time()) && image.Digest != "":
		if image.last.Digest == image.Digest {
			return imagepull.OutcomeVerified
		}
		return imagepull.OutcomeDownloaded
	case pulled.known() && image != nil && f.broughtByOther(image, markKey{index, final, MarkPullStarted}):
		return imagepull.OutcomeVerified
	case pulled.known() && (image != nil && !image.Present || c.PullPolicy == PullIfNotPresent && !there):
		return imagepull.OutcomeDownloaded
	case pulled.known():
		return imagepull.OutcomeUnknown
	case f.bounds.find(markKey{index, final, MarkPullRequested}) != nil &&
		f.bounds.find(markKey{index, 0, MarkContainerCreated}) == nil:
		return imagepull.OutcomePulling
	case image != nil && !image.Present && f.bounds.find(markKey{index, 0, MarkContainerCreated}) != nil:
		return imagepull.OutcomeDownloaded // it was absent, and a container runs from it
	case there && c.PullPolicy != PullAlways, c.PullPolicy == PullNever:
		return imagepull.OutcomePresent
	case f.e.pulledBefore(image) && c.PullPolicy != PullAlways:
		return imagepull.OutcomePresent
	}
	return imagepull.OutcomeUnknown
}

// broughtByOther says that the image was complete before this pull began: while it waited in the queue,
// another pod's pull brought it.
func (f *fold) broughtByOther(image *imageEvidence, started markKey) bool {
	b := f.bounds.find(started)
	return b != nil && !image.last.FirstPulledAt.IsZero() && at(image.last.FirstPulledAt) < b.estimate()
}

// pulledBefore says that the image's latest pull ended before the pod was here at all.
func (e *Evidence) pulledBefore(image *imageEvidence) bool {
	return image != nil && image.Present && !image.PulledAt.IsZero() && !e.pod.AcknowledgedAt.IsZero() &&
		image.PulledAt.Before(e.pod.AcknowledgedAt)
}

// pull fills in the instants that are known of one attempt.
func (f *fold) pull(c *Container, registry string, a pullAttempt) Pull {
	index := f.index(c.Name)
	p := Pull{
		Container: c.Name, Image: c.Image, Registry: registry, Outcome: a.outcome, Attempt: int(a.attempt),
	}
	requested := f.bounds.find(markKey{index, a.attempt, MarkPullRequested})
	started := f.bounds.find(markKey{index, a.attempt, MarkPullStarted})
	finished := f.bounds.find(markKey{index, a.attempt, a.end()})
	var told origins
	for _, b := range [...]*bound{requested, started, finished} {
		if b != nil {
			told |= b.origins
		}
	}
	p.Sources = f.sources.of(told)
	if requested != nil {
		p.RequestedAt = requested.estimate().time()
	}
	if started != nil {
		p.StartedAt = started.estimate().time()
	}
	if finished != nil {
		p.FinishedAt = finished.estimate().time()
	}
	inOrder := !p.StartedAt.Before(p.RequestedAt) && !p.FinishedAt.Before(p.StartedAt) // else a conflict says why
	if requested != nil && started != nil && finished != nil && inOrder && a.outcome != imagepull.OutcomePresent {
		p.Timed = true
		p.Queue, p.Pull = p.StartedAt.Sub(p.RequestedAt), p.FinishedAt.Sub(p.StartedAt)
		p.Error = max(f.spanError(requested, started), f.spanError(started, finished))
	}
	return p
}
