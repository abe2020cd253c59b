package timeline

import (
	"fmt"
	"slices"
	"time"
)

func (l *simulatedPod) pull(c *simulatedContainer) bool {
	n := c.pulls
	c.pulls++
	l.lookUpCredentials()
	l.createEvent(c.Name, "Pulling", fmt.Sprintf("Pulling image %q", c.Image))
	l.advance(c.wait, c, MilestonePullRequested, n, l.randomLength(time.Microsecond, time.Millisecond))
	if l.stopKubelet(l.now.Add(anyPart(l.now, 10*time.Second))) {
		l.cancelPull(c)
		l.createEvent(c.Name, "Pulling", fmt.Sprintf("Pulling image %q", c.Image))
		l.advance(PhaseKubeletSync, c, MilestonePullRequested, n, l.randomLength(time.Microsecond, time.Millisecond))
	}
	requested := l.now
	l.advance(PhasePullQueue, c, MilestonePullStarted, n, l.randomLength(time.Microsecond, 20*time.Second))
	started := l.now
	l.lookUpInPull(c)
	called := l.now
	length := l.randomLength(20*time.Millisecond, 20*time.Second)
	if n < c.pullFailures {
		l.advance(PhasePull, c, MilestonePullFailed, n, length)
		if got := anyPart(called, 2*length); got < length { // every second failed pull had received the manifest
			l.milestone(trueMilestone{MilestonePullResolved, c.Name, n}, called.Add(got))
			l.images[c.Image].receiveManifest(called.Add(got))
		}
		l.now = l.now.Add(l.responseDelay())
		l.createEvent(c.Name, "Failed", fmt.Sprintf("Failed to pull image %q: no %d", c.Image, n*(l.wording%2)))
		l.createEvent(c.Name, "Failed", "Error: ErrImagePull")
		c.due = l.now.Add(l.randomLength(10*time.Second<<n, 10*time.Second<<n+5*time.Second))
		c.wait = PhaseImageBackoff
		l.forgetBackoff(c, 0)
		return false
	}
	resolving := anyPart(called, length)
	l.advance(PhasePull, c, MilestonePullResolved, n, resolving)
	l.images[c.Image].receiveManifest(l.now)
	l.advance(PhasePull, c, MilestonePullFinished, n, length-resolving)
	l.images[c.Image].pull(l.now.Add(-l.randomLength(time.Microsecond, 15*time.Millisecond)))
	size := l.randomLength(time.Microsecond, 5*time.Millisecond) // the kubelet also asks for the image size
	responded := l.now.Add(size + l.responseDelay())
	took, waited := responded.Sub(started), responded.Sub(requested)
	message := fmt.Sprintf("Successfully pulled image %q", c.Image)
	switch l.wording {
	case 0: // the format of kubelet 1.24 and earlier
		message += fmt.Sprintf(" in %s", waited)
	case 1: // the format of kubelet 1.25 to 1.27
		message += fmt.Sprintf(" in %s (%s including waiting)", took, waited)
	default:
		message += fmt.Sprintf(" in %s (%s including waiting). Image size: 5 bytes.",
			took.Truncate(time.Millisecond), waited.Truncate(time.Millisecond))
	}
	l.now = responded
	l.createEvent(c.Name, "Pulled", message)
	return true
}

// imagesAt returns the runtime's responses about the pod's images. A runtime without stores reports no timestamps.
func (w *simulatedSources) imagesAt(t time.Time) []Image {
	var images []Image
	for _, c := range w.containers {
		if slices.ContainsFunc(images, func(i Image) bool { return i.Ref == c.Image }) {
			continue
		}
		s := w.images[c.Image]
		image := Image{Ref: c.Image, Present: s.at(t)}
		if image.Present && w.loss.storeless {
			image.Digest, image.SizeBytes = "sha256:"+c.Image, 5
		} else if image.Present {
			image.Digest, image.SizeBytes, image.Layered, image.ResolvedAt = "sha256:"+c.Image, 5, true, s.came
			if s.present {
				image.FirstPulledAt = base.Add(-time.Hour)
				image.ResolvedAt = image.FirstPulledAt.Add(-time.Second)
				image.PulledAt = image.FirstPulledAt
			}
			for _, at := range s.pulled {
				if at.After(t) {
					break
				}
				if image.FirstPulledAt.IsZero() {
					image.FirstPulledAt = at
				}
				image.PulledAt = at
			}
		}
		images = append(images, image)
	}
	return images
}
