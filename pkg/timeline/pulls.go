package timeline

import (
	"cmp"
	"slices"
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

func (p Pull) present() bool { return p.Outcome == imagepull.OutcomePresent }
func (p Pull) failed() bool  { return p.Outcome == imagepull.OutcomeFailed }

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

// pullsOf lists every attempt to get the container's image, oldest first.
func (f *fold) pullsOf(c Container) []Pull {
	index := f.index(c.Name)
	evidence := &f.e.containers[index]
	image := f.e.image(c.Image)
	final := f.e.finalPull(index)
	var pulls []Pull
	for attempt := uint16(0); attempt < final; attempt++ {
		pulls = append(pulls, f.pull(c, attempt, imagepull.OutcomeFailed))
	}
	last := f.pull(c, final, lastOutcome(f, c, index, final))
	if image != nil {
		last.Digest, last.SizeBytes = image.last.Digest, image.last.SizeBytes
	}
	if evidence.pulled.message.SizeBytes > 0 {
		last.SizeBytes = evidence.pulled.message.SizeBytes
	}
	return append(pulls, last)
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
func (f *fold) pull(c Container, attempt uint16, outcome imagepull.Outcome) Pull {
	index := f.index(c.Name)
	p := Pull{
		Container: c.Name, Image: c.Image, Registry: imagepull.Registry(c.Image),
		Outcome: outcome, Attempt: int(attempt),
	}
	end := MarkPullFinished
	if outcome == imagepull.OutcomeFailed {
		end = MarkPullFailed
	}
	requested := f.bounds.find(markKey{index, attempt, MarkPullRequested})
	started := f.bounds.find(markKey{index, attempt, MarkPullStarted})
	finished := f.bounds.find(markKey{index, attempt, end})
	for _, b := range []*bound{requested, started, finished} {
		if b != nil {
			p.Sources = append(p.Sources, b.sources()...)
		}
	}
	slices.SortFunc(p.Sources, cmp.Compare[Source])
	p.Sources = slices.Compact(p.Sources)
	if requested != nil {
		p.RequestedAt = requested.estimate().time()
	}
	if started != nil {
		p.StartedAt = started.estimate().time()
	}
	if finished != nil {
		p.FinishedAt = finished.estimate().time()
	}
	if requested != nil && started != nil && finished != nil && outcome != imagepull.OutcomePresent {
		p.Timed = true
		p.Queue, p.Pull = p.StartedAt.Sub(p.RequestedAt), p.FinishedAt.Sub(p.StartedAt)
		p.Error = max(spanError(requested, started), spanError(started, finished))
	}
	return p
}
