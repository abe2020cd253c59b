package timeline

import (
	"slices"
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

// lastOutcome returns the outcome of the last attempt to get a container's image. lastOutcome returns OutcomeUnknown if
// the observed evidence does not determine the outcome.
func lastOutcome(f *fold, c *Container, index int16) imagepull.Outcome {
	pulled, final, image := f.pulls[index].pulled, f.pulls[index].finalAttempt, f.usedImage(c)
	there := image != nil && !image.wasAbsent() && image.beforeSandbox
	switch {
	case pulled.present:
		return imagepull.OutcomePresent
	case pulled.known():
		return f.pulledOutcome(c, index, image)
	case f.pulls[index].until == maxInstant && f.bounds.find(milestoneKey{index, final, MilestonePullRequested}) != nil:
		return imagepull.OutcomePulling
	case f.e.usedBy(index) != maxInstant && image != nil && image.wasAbsent():
		return f.outcomeWithoutEvent(c, index, image)
	case there && image.pulledAgain():
		switch {
		case c.PullPolicy != PullAlways:
			// Another pod has probably pulled the image again. But the kubelet might also have pulled the image to
			// check this pod's credentials.
			return imagepull.OutcomeUnknown
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

// pulledOutcome returns the outcome of a pull that succeeded according to the kubelet. A pull does not prove that the
// image was absent. With the policy Always, the kubelet always contacts the registry. With the policy IfNotPresent,
// kubelet 1.35 or newer can contact the registry although the image is present. The kubelet contacts the registry about
// a present image if the image was pulled with credentials that the pod might not have (pkg/kubelet/images,
// EnsureImageExists).
func (f *fold) pulledOutcome(c *Container, index int16, image *imageEvidence) imagepull.Outcome {
	pulled, started := f.pulls[index].pulled, milestoneKey{index, f.pulls[index].finalAttempt, MilestonePullStarted}
	began := pulled.beganAt()
	nothingCame := image != nil && pulled.lengths.Timed && image.nothingCameSince(began)
	absent := image != nil && image.wasAbsent() || c.PullPolicy == PullIfNotPresent && !f.wasThere(image, index)
	switch {
	case len(f.pulls[index].layers) > 0:
		// This pull downloaded layers. If an earlier pull had already downloaded the image, then either the tag moved,
		// or the image was removed before this pull.
		return imagepull.OutcomeDownloaded
	case f.wasThere(image, index) && image.last.queriedAt.After(pulled.latest.time()) && image.Digest != "":
		if image.last.Digest == image.Digest {
			return imagepull.OutcomeVerified
		}
		return imagepull.OutcomeDownloaded
	case nothingCame && image.unpackedSince(began):
		// The layers were there before this pull, but the runtime unpacked some of them later. Either another pull or
		// an earlier attempt had downloaded the layers, or the layers belong to another image.
		return imagepull.OutcomeUnknown
	case !absent && nothingCame:
		return imagepull.OutcomeVerified
	case absent && f.pulledForOtherContainer(c, started):
		return imagepull.OutcomeJoined
	case absent && image != nil && f.storedByOtherPull(image, started):
		if b := f.bounds.find(started); at(image.last.FirstPulledAt).sub(b.earliest) > startSlack {
			return imagepull.OutcomeUnknown // this pull might have begun early enough to store the image itself
		}
		return imagepull.OutcomeJoined
	case absent && nothingCame:
		return imagepull.OutcomeVerified // the image was present under another name
	case absent:
		return imagepull.OutcomeDownloaded
	}
	return imagepull.OutcomeUnknown
}

// outcomeWithoutEvent returns the outcome of a pull that no Event reports. The image was absent at first, and a
// container now runs from the image.
func (f *fold) outcomeWithoutEvent(c *Container, index int16, image *imageEvidence) imagepull.Outcome {
	switch {
	case f.inBackoff(index, image.last.FirstPulledAt):
		// Either another client pulled the image, or the kubelet pulled the image after a restart. A restarted kubelet
		// has no back-off.
		return imagepull.OutcomeUnknown
	case f.e.foundPresent(c, image):
		return imagepull.OutcomePresent
	case image.withLayers != nil && f.inBackoff(index, image.withLayers.ResolvedAt):
		// Another client began a pull during the back-off. So the kubelet's next attempt might not have downloaded any
		// content.
		return imagepull.OutcomeUnknown
	case image.nothingCameSince(f.e.workStart(c)):
		// Another pull might have downloaded the layers. Or another pull might have stored the image under its name
		// before the kubelet worked on the container.
		if image.unpackedSince(f.e.workStart(c)) || f.mayStartWorkLater(c, index, at(image.last.FirstPulledAt)) {
			return imagepull.OutcomeUnknown
		}
		return imagepull.OutcomeVerified // the image was present under another name
	case f.mayHideFailure(index, image.last.FirstPulledAt, image.last.PulledAt):
		return imagepull.OutcomeUnknown // another client might have stored the image before the container's back-off
	case image.pulledOnce() && !f.mayStartWorkLater(c, index, at(image.last.FirstPulledAt)):
		return imagepull.OutcomeDownloaded
	}
	// Either the runtime does not report which client pulled the image, or there were several pulls. One of these pulls
	// might have been for this pod.
	return imagepull.OutcomeUnknown
}

// wasThere reports whether the runtime had an image before the kubelet requested the image.
func (f *fold) wasThere(image *imageEvidence, index int16) bool {
	if image == nil || image.wasAbsent() {
		return false
	}
	requested := f.bounds.find(milestoneKey{index, 0, MilestonePullRequested})
	return image.beforeSandbox || requested != nil && at(image.queriedAt) < requested.earliest
}

// pulledForOtherContainer reports whether the kubelet had already pulled the same image for another container of the
// pod.
func (f *fold) pulledForOtherContainer(c *Container, started milestoneKey) bool {
	b := f.bounds.find(started)
	return b != nil && slices.ContainsFunc(f.e.pod.Containers, func(o Container) bool {
		if o.Name == c.Name || o.Image != c.Image || f.index(o.Name) == podWide {
			return false
		}
		pulled := f.pulls[f.index(o.Name)].pulled
		return pulled.known() && !pulled.present && pulled.image == textHash(c.Image) && pulled.latest <= b.latest
	})
}

// foundPresent reports whether the kubelet certainly found the image on the node. The result is true if the pull policy
// is not Always, and the image's first pull ended before the kubelet started work on the container.
func (e *Evidence) foundPresent(c *Container, image *imageEvidence) bool {
	first := image.last.FirstPulledAt
	return c.PullPolicy != PullAlways && !first.IsZero() && at(first) < e.workStart(c)
}

// inBackoff reports whether the time t is within the kubelet's back-off after the latest failed pull of a container's
// image. The kubelet does not pull during its back-off, so content that arrives then comes from pulls by other clients.
// If only a status from the pod watch reports the failure, the time of the failure is unknown. Then inBackoff assumes
// that the attempt failed statusPatience before the status arrived. The back-off also ends when the kubelet next
// requests the image, because a restarted kubelet forgets its back-off.
func (f *fold) inBackoff(index int16, t time.Time) bool {
	failures := f.pulls[index].failures
	if len(failures) == 0 || t.IsZero() {
		return false
	}
	last := failures[len(failures)-1]
	if slices.ContainsFunc(f.pulls[index].requests, func(c imageRequest) bool {
		return c.key.attempt > last.attempt && c.earliest < at(t)
	}) {
		return false
	}
	failed := last.earliest
	if failed == minInstant && last.bias == biasLatest {
		failed = last.latest - instant(statusPatience)
	}
	return last.latest < at(t) && at(t) < failed+instant(imagepull.Backoff(int(last.attempt)+1))
}

// startSlack is the longest time by which two pulls of an image can seem to overlap, although the second pull started
// after the first pull had stored the image. If a pull overlaps the image's first pull by more than startSlack, the
// pull itself might have stored the image. When a pull ends, the kubelet starts the next pull in the queue at once. The
// value is an estimate: no measurement shows how late the kubelet can be.
const startSlack = 100 * time.Millisecond

// storedByOtherPull reports whether another pod's pull completed the image while this pull was in the queue.
// storedByOtherPull returns false if a failed attempt of this container might have stored the image.
func (f *fold) storedByOtherPull(image *imageEvidence, started milestoneKey) bool {
	b := f.bounds.find(started)
	if b == nil || image.last.FirstPulledAt.IsZero() || at(image.last.FirstPulledAt) >= b.estimate() {
		return false
	}
	return !slices.ContainsFunc(f.pulls[started.container].failures, func(failed failedPull) bool {
		return at(image.last.FirstPulledAt) <= failed.latest
	})
}

// pulledBefore reports whether the image's latest pull ended before the pod reached the node.
func (e *Evidence) pulledBefore(image *imageEvidence) bool {
	if image == nil || image.wasAbsent() || image.PulledAt.IsZero() {
		return false
	}
	if e.firstSeen.live && e.firstSeen.new && at(image.PulledAt) < at(e.firstSeen.at)-liveSlack {
		return true // the kubelet received the pod at most liveSlack before the agent did
	}
	return !e.pod.AcknowledgedAt.IsZero() && image.PulledAt.Before(e.pod.AcknowledgedAt)
}
