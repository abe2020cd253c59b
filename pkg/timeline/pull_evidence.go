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

// mayBeOfRestart says that kubelet's word that an image was there may as well be about the second run of a container, since
// nobody tells to the nanosecond when the first one was made. Then kubelet's word about that one was lost.
func (e *Evidence) mayBeOfRestart(index int16, p pulledEvent) bool {
	if !p.present || p.latest <= e.createdSince(index) {
		return false
	}
	return slices.ContainsFunc(e.constraints, func(c constraint) bool {
		return c.key.container == index && c.key.attempt > 0 && (c.key.mark == MarkContainerCreated || c.key.mark == MarkRunning)
	})
}

// usedBy is when at the latest something was made from the image of a container, or of a volume: it was there then.
// It is maxInstant while nothing was.
func (e *Evidence) usedBy(index int16) instant {
	if e.isVolume(index) {
		end := maxInstant
		for i := range e.containers {
			end = min(end, e.createdBy(int16(i)))
		}
		return end
	}
	return e.createdBy(index)
}

// createdBy is when at the latest a container was made for the first time; maxInstant while it was not.
func (e *Evidence) createdBy(index int16) instant {
	created, _ := e.latest(markKey{index, 0, MarkContainerCreated})
	ran, _ := e.latest(markKey{index, 0, MarkRunning})
	return min(created, ran)
}

// imageCheckedBy is when at the latest the runtime had said whether it has a container's image: kubelet had asked for a pull,
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

func (e *Evidence) isVolume(index int16) bool {
	c := e.specOf(index)
	return c != nil && c.Kind == KindImageVolume
}

// specOf is the container of the pod that evidence is about; nil if the pod has none of that name.
func (e *Evidence) specOf(index int16) *Container {
	for i := range e.pod.Containers {
		if e.pod.Containers[i].Name == e.containers[index].name {
			return &e.pod.Containers[i]
		}
	}
	return nil
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
	// Kubelet cuts durations to a unit, so the truth is up to that much longer.
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

// pullAttempt is how one attempt to get a container's image ended.
type pullAttempt struct {
	attempt uint16
	outcome imagepull.Outcome
	failure imagepull.Failure
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
	attempts := make([]pullAttempt, 0, int(evidence.finalAttempt)+1)
	for n := range evidence.finalAttempt {
		a := pullAttempt{attempt: n, outcome: imagepull.OutcomeUnknown}
		if i := slices.IndexFunc(evidence.failures, func(f failedPull) bool { return f.attempt == n }); i >= 0 {
			a.outcome, a.failure = imagepull.OutcomeFailed, evidence.failures[i].why
		}
		attempts = append(attempts, a)
	}
	return append(attempts, pullAttempt{attempt: evidence.finalAttempt, outcome: lastOutcome(f, c, index)})
}

// appendPulls adds what is known of every attempt to get the container's image.
func (f *fold) appendPulls(pulls []Pull, c *Container) []Pull {
	index := f.index(c.Name)
	registry := f.e.containers[index].registryOf(c.Image)
	attempts := f.attemptsOf(c)
	last := attempts[len(attempts)-1]
	if last.attempt > 0 && last.outcome == imagepull.OutcomeUnknown && f.e.usedBy(index) == maxInstant {
		attempts = attempts[:len(attempts)-1] // it is still to come
	}
	for _, a := range attempts {
		pulls = append(pulls, f.pull(c, registry, a))
	}
	return f.describe(pulls, c)
}

// describe adds what the image is to the last of the pulls, if that brought or found it.
func (f *fold) describe(pulls []Pull, c *Container) []Pull {
	index := f.index(c.Name)
	last := &pulls[len(pulls)-1]
	if last.Outcome == imagepull.OutcomeFailed {
		return pulls
	}
	if image := f.e.image(c.Image); image != nil {
		last.Digest, last.SizeBytes = image.last.Digest, image.last.SizeBytes
	}
	last.Lazy = f.lazy(c)
	if size := f.pulls[index].pulled.lengths.SizeBytes; size > 0 {
		last.SizeBytes = size
	}
	return pulls
}

// lastOutcome decides how the last attempt ended, from what was seen only.
func lastOutcome(f *fold, c *Container, index int16) imagepull.Outcome {
	pulled, final, image := f.pulls[index].pulled, f.pulls[index].finalAttempt, f.e.image(c.Image)
	there := image != nil && !image.wasAbsent() && image.beforeSandbox
	switch {
	case pulled.present:
		return imagepull.OutcomePresent
	case pulled.known():
		return f.pulledOutcome(c, index, image)
	case f.e.usedBy(index) == maxInstant && f.bounds.find(markKey{index, final, MarkPullRequested}) != nil:
		return imagepull.OutcomePulling
	case f.e.usedBy(index) != maxInstant && image != nil && image.wasAbsent():
		return f.outcomeWithoutEvent(c, index, image)
	case there && image.pulledAgain():
		switch {
		case c.PullPolicy != PullAlways:
			return imagepull.OutcomeUnknown // by another pod most likely, but kubelet may have checked credentials
		case image.last.Digest == image.Digest:
			return imagepull.OutcomeVerified
		}
		return imagepull.OutcomeDownloaded
	case there && c.PullPolicy != PullAlways, c.PullPolicy == PullNever && f.e.usedBy(index) != maxInstant:
		return imagepull.OutcomePresent
	case f.e.pulledBefore(image) && c.PullPolicy != PullAlways:
		return imagepull.OutcomePresent
	}
	return imagepull.OutcomeUnknown
}

// pulledOutcome is what a pull brought of which kubelet tells that it succeeded. That kubelet pulled does not say that the
// image was absent: with the policy Always it asks the registry every time, and since 1.35, with IfNotPresent, too, where
// the image had been pulled with credentials that the pod may not have (pkg/kubelet/images, EnsureImageExists).
func (f *fold) pulledOutcome(c *Container, index int16, image *imageEvidence) imagepull.Outcome {
	pulled, started := f.pulls[index].pulled, markKey{index, f.pulls[index].finalAttempt, MarkPullStarted}
	nothingCame := image != nil && pulled.lengths.Timed &&
		image.nothingCameSince(pulled.latest-instant(pulled.lengths.Pull+pulled.lengths.Unit+durationSlack))
	absent := image != nil && image.wasAbsent() || c.PullPolicy == PullIfNotPresent && !f.wasThere(image, index)
	switch {
	case len(f.pulls[index].layers) > 0:
		return imagepull.OutcomeDownloaded // whoever else had brought the image by then, its tag was moved or it was removed
	case f.wasThere(image, index) && image.last.askedAt.After(pulled.latest.time()) && image.Digest != "":
		if image.last.Digest == image.Digest {
			return imagepull.OutcomeVerified
		}
		return imagepull.OutcomeDownloaded
	case !absent && nothingCame:
		return imagepull.OutcomeVerified
	case absent && (image != nil && f.broughtByOther(image, started) || f.pulledBeside(c, started)):
		return imagepull.OutcomeJoined
	case absent && nothingCame:
		return imagepull.OutcomeVerified // it was there, under another name
	case absent:
		return imagepull.OutcomeDownloaded
	}
	return imagepull.OutcomeUnknown
}

// wasThere says that the runtime had an image when it was asked about it before kubelet wanted it pulled.
func (f *fold) wasThere(image *imageEvidence, index int16) bool {
	if image == nil || image.wasAbsent() {
		return false
	}
	requested := f.bounds.find(markKey{index, 0, MarkPullRequested})
	return image.beforeSandbox || requested != nil && at(image.askedAt) < requested.earliest
}

// pulledBeside says that kubelet had pulled the same image before, for another container of the pod.
func (f *fold) pulledBeside(c *Container, started markKey) bool {
	b := f.bounds.find(started)
	return b != nil && slices.ContainsFunc(f.e.pod.Containers, func(o Container) bool {
		if o.Name == c.Name || o.Image != c.Image || f.index(o.Name) == podWide {
			return false
		}
		pulled := f.pulls[f.index(o.Name)].pulled
		return pulled.known() && !pulled.present && pulled.latest <= b.latest
	})
}

// outcomeWithoutEvent is how an image came that was absent and that a container runs from, where no Event tells.
func (f *fold) outcomeWithoutEvent(c *Container, index int16, image *imageEvidence) imagepull.Outcome {
	switch {
	case f.inBackoff(index, image.last.FirstPulledAt) && c.PullPolicy == PullAlways:
		return imagepull.OutcomeJoined
	case f.e.foundPresent(c, image), f.inBackoff(index, image.last.FirstPulledAt):
		return imagepull.OutcomePresent
	case image.layered != nil && f.inBackoff(index, image.layered.ResolvedAt):
		return imagepull.OutcomeUnknown // another pull had begun; whether kubelet's next one still found work to do
	case image.nothingCameSince(f.e.workStart(c)):
		return imagepull.OutcomeVerified // it was there, under another name
	case image.pulledOnce() && !f.mayStartWorkLater(c, index, at(image.last.FirstPulledAt)):
		return imagepull.OutcomeDownloaded
	}
	return imagepull.OutcomeUnknown // by whom, a runtime does not tell; or more than once since, by this pod among others
}

// inBackoff says that kubelet waited between two attempts to pull a container's image: whatever came then, others
// brought. Of a failure that a status alone tells of nothing is known but that it came soon after, if it came live.
func (f *fold) inBackoff(index int16, t time.Time) bool {
	failures := f.pulls[index].failures
	if len(failures) == 0 || t.IsZero() {
		return false
	}
	last := failures[len(failures)-1]
	failed := last.earliest
	if failed == minInstant && last.lean == leanLatest {
		failed = last.latest - instant(statusPatience)
	}
	return last.latest < at(t) && at(t) < failed+instant(imagepull.Backoff(int(last.attempt)+1))
}

// broughtByOther says that the image was complete before this pull began: while it waited in the queue,
// another pod's pull brought it. An attempt of its own that failed at the end may have stored it, too.
func (f *fold) broughtByOther(image *imageEvidence, started markKey) bool {
	b := f.bounds.find(started)
	if b == nil || image.last.FirstPulledAt.IsZero() || at(image.last.FirstPulledAt) >= b.estimate() {
		return false
	}
	return !slices.ContainsFunc(f.pulls[started.container].failures, func(failed failedPull) bool {
		return at(image.last.FirstPulledAt) <= failed.latest
	})
}

// pulledBefore says that the image's latest pull ended before the pod was here at all.
func (e *Evidence) pulledBefore(image *imageEvidence) bool {
	if image == nil || image.wasAbsent() || image.PulledAt.IsZero() {
		return false
	}
	if e.firstSeen.live && e.firstSeen.new && at(image.PulledAt) < at(e.firstSeen.at)-liveSlack {
		return true // kubelet has heard of the pod no sooner than the agent
	}
	return !e.pod.AcknowledgedAt.IsZero() && image.PulledAt.Before(e.pod.AcknowledgedAt)
}

// pull fills in the instants that are known of one attempt.
func (f *fold) pull(c *Container, registry string, a pullAttempt) Pull {
	index := f.index(c.Name)
	p := Pull{
		Container: c.Name, Kind: c.Kind, Image: c.Image, Registry: registry, Outcome: a.outcome, Failure: a.failure, Attempt: int(a.attempt),
		Confirmed:   f.confirmed(c, a.outcome),
		Unconfirmed: a.outcome == imagepull.OutcomeFailed && !f.failureConfirmed(index, a.failure),
	}
	requested := f.bounds.find(markKey{index, a.attempt, MarkPullRequested})
	started := f.bounds.find(markKey{index, a.attempt, MarkPullStarted})
	finished := f.bounds.find(markKey{index, a.attempt, a.end()})
	if image := f.e.image(c.Image); image != nil && !image.Present {
		p.absentAt = at(image.askedAt)
	}
	f.addLayers(&p, index, a)
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
	if a.outcome == imagepull.OutcomeFailed && requested != nil && finished != nil && !p.FinishedAt.Before(p.RequestedAt) {
		p.Error = f.spanError(requested, finished) // of queue and pull together
	}
	if started == nil || finished == nil || a.outcome == imagepull.OutcomePresent || p.FinishedAt.Before(p.StartedAt) {
		return p // out of order: a conflict says why
	}
	if requested != nil && p.StartedAt.Before(p.RequestedAt) {
		return p
	}
	p.Timed, p.Pull, p.Error = true, p.FinishedAt.Sub(p.StartedAt), f.spanError(started, finished)
	p.Credentials = f.credentials(started, finished)
	if f.startedBy(index, a.attempt) {
		p.Timed = p.Error <= p.Pull // else the most of it is a guess
	} else if requested != nil {
		p.QueueTimed, p.Queue = true, p.StartedAt.Sub(p.RequestedAt)
		p.Error = max(p.Error, f.spanError(requested, started))
	}
	return p
}
