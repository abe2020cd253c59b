package timeline

import (
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

// responseSlack is the usual maximum time from an image's timestamp to the runtime's response. Before containerd
// responds, it stores the image under its other names and reads the image's size (internal/cri/server/images,
// PullImage). Each name needs one write to the database.
const responseSlack = instant(250 * time.Millisecond)

// pullEnd is the interval that contains the end of a pull. A pull ends when the runtime has stored the image and
// responded to the kubelet. The interval comes from the image's timestamps. If the kubelet was stopped or lacked CPU,
// it can receive the response after this interval. The field "latest" is maxInstant if there is no upper bound. The
// zero value means unknown.
type pullEnd struct {
	earliest, latest instant
	// ofLatest is true if "earliest" is the timestamp of the image's latest pull. Another pod's pull might have written
	// this timestamp after the end of this pull.
	ofLatest bool
}

func (s pullEnd) known() bool { return s.earliest != 0 }

// hasUpperBound reports whether the timestamps set an upper bound on the end of the pull.
func (s pullEnd) hasUpperBound() bool { return s.known() && s.latest != maxInstant }

// pullEndBetween returns the interval that contains the end of a pull. The argument "from" is the earliest time at
// which the runtime might have stored the image. The argument "last" is the latest possible timestamp of the image.
func pullEndBetween(from, last instant) pullEnd {
	return pullEnd{earliest: from, latest: last + responseSlack}
}

// pullEnd returns the end of a container's pull, from the image's timestamps. pullEnd ignores a timestamp before this
// pull or after the kubelet's Event about this pull. Such a timestamp belongs to another pull, for example for another
// pod or for a restarted container.
func (f *fold) pullEnd(index int16) pullEnd {
	image, p := f.pulledImage(f.e.containers[index].name), f.pulls[index].pulled
	switch {
	case image == nil:
		return pullEnd{}
	case !p.known():
		return f.pullEndWithoutEvent(index, image)
	}
	began := minInstant
	if !p.present {
		began = p.beganAt()
	}
	of := func(stamp time.Time) bool { return !stamp.IsZero() && began <= at(stamp) && at(stamp) <= p.latest }
	first, last := image.last.FirstPulledAt, image.last.PulledAt
	ofFirst := of(first) && image.wasAbsent()
	switch {
	case of(last) && !p.present && at(image.last.queriedAt) >= p.latest:
		// The agent queried the runtime after the kubelet's Event, and the runtime reported no pull that had ended
		// after the Event. But another pod's pull of the image might have ended between this pull and the Event.
		if ofFirst {
			return pullEndBetween(at(first), at(last))
		}
		end := pullEndBetween(at(last), at(last))
		end.ofLatest = true
		return end
	case ofFirst:
		return pullEnd{earliest: at(first), latest: maxInstant}
	case of(last) && !p.present:
		return pullEnd{earliest: at(last), latest: maxInstant, ofLatest: true}
	}
	return pullEnd{}
}

// pullEndWithoutEvent returns the end of a pull that no Event reports. The image's timestamps certainly belong to this
// container's pull if all of these conditions are true:
//   - The image had been pulled exactly once when the container was created.
//   - The image's only pull ended after the kubelet started work on the container.
//   - No other container of the pod has the same image.
//   - No pull for this container failed. After a failed pull, another pod might have pulled the image during the
//     kubelet's back-off.
//
// If one of the conditions is false, the timestamps might belong to another pull, so the end of the pull has no upper
// bound. The end is unknown if the image was always present, or if the kubelet has not used the image.
func (f *fold) pullEndWithoutEvent(index int16, image *imageEvidence) pullEnd {
	first, last, used := image.last.FirstPulledAt, image.last.PulledAt, f.e.usedBy(index)
	if !image.wasAbsent() || first.IsZero() || used == maxInstant {
		return pullEnd{}
	}
	mayBeOwn := f.pulls[index].finalAttempt == 0 && image.pulledOnce() && at(last) <= used &&
		at(image.last.queriedAt) >= used
	c := f.e.specOf(index)
	if start := f.e.workStart(c); !mayBeOwn || f.e.onlyContainerWith(image.Ref) == nil || at(last) < start ||
		f.mayStartWorkLater(c, index, at(last)) {
		return pullEnd{earliest: max(at(first), start), latest: maxInstant}
	}
	return pullEndBetween(at(last), at(last))
}

// addStamp notes in the pull p that a timestamp of the image limits the end of p, although another pod's pull might
// have written this timestamp. PullLog, which knows the pulls of other pods, decides later whether the timestamp
// counts. Without the timestamp, only the kubelet's Event limits the end of p. If the Event seems to be late, only the
// start of p limits its end.
func (f *fold) addStamp(p *Pull, index int16, finished *bound) {
	end, event := f.pulls[index].runtimeEnd, f.pulls[index].pulled
	if !end.ofLatest || finished == nil || finished.earliest != end.earliest || event.beganAt() == minInstant ||
		finished.key != (milestoneKey{index, f.pulls[index].finalAttempt, MilestonePullFinished}) {
		return
	}
	p.stampedAt, p.endsSince = end.earliest, event.beganAt()
	if since := event.responseConstraint(finished.key).earliest; since <= end.earliest {
		p.endsSince = max(p.endsSince, since)
	}
}

// onlyContainerWith returns the pod's only container with the given image. onlyContainerWith returns nil if several
// containers use the image, because the pull might have been for any of these containers.
func (e *Evidence) onlyContainerWith(image string) (only *Container) {
	for i := range e.pod.Containers {
		switch c := &e.pod.Containers[i]; {
		case c.Image != image:
		case only != nil:
			return nil
		default:
			only = c
		}
	}
	return only
}

// beganAt returns the time when the kubelet requested the pull from the runtime. beganAt computes this time from the
// duration in the Event. Kubelets up to 1.24 report only the time since the pull entered the kubelet's pull queue. For
// these kubelets, beganAt returns the time when the pull entered the queue.
func (p pulledEvent) beganAt() instant {
	switch l := p.lengths; {
	case l.Timed:
		return p.latest - instant(l.Pull+l.Unit+durationSlack)
	case l.WaitingTimed:
		return p.latest - instant(l.Waiting+l.Unit+durationSlack)
	}
	return minInstant
}

// beganBefore reports whether the Event's pull certainly began before the given request for the image.
func (p pulledEvent) beganBefore(request window) bool {
	began := p.beganAt()
	return began != minInstant && began+instant(p.lengths.Unit+durationSlack) < request.earliest
}

// endedBefore reports whether the Event's pull ended before a failure. The result is true if the pull began before the
// failure, and the failure might have come after the end of the pull. No pull fails while another pull is in progress.
// The timestamp of a repeated Event is truncated to seconds, so such a failure can seem to be earlier than the pull.
// But a kubelet that counts failures remembers the back-off, because it has not restarted. So a pull that began less
// than one back-off after the earliest possible time of the failure began before the failure. A restart between the
// failure and the pull is impossible, because it takes longer than the interval of the timestamp.
func (p pulledEvent) endedBefore(failure failureEvent) bool {
	w := failure.window
	if failure.atLeast > 0 && failure.image == p.image {
		w.earliest += instant(imagepull.Backoff(1))
	}
	return p.known() && p.beganBefore(w) && p.latest < failure.latest
}

// eventOnTime returns false if the runtime's timestamps show that the kubelet's Event about the end of the pull was
// late. The duration in a late Event includes the delay.
func (p pullEvidence) eventOnTime() bool {
	return !p.runtimeEnd.hasUpperBound() || p.pulled.earliest <= p.runtimeEnd.earliest
}

// eventLate reports whether the kubelet received the runtime's response long after the end of the pull.
func (p pullEvidence) eventLate() bool {
	return !p.eventOnTime() && p.pulled.latest > p.runtimeEnd.latest
}

// endConstraints returns the constraints on the end of the successful pull.
func (p pullEvidence) endConstraints(finished milestoneKey) []constraint {
	var constraints []constraint
	if p.runtimeEnd.known() {
		c := constraint{finished, originStore, biasNone, p.runtimeEnd.earliest, p.runtimeEnd.latest}
		if p.runtimeEnd.hasUpperBound() && (p.pulled.origin != originEventName || p.eventLate()) {
			// The pull probably ended soon after the image's timestamp. But a busy disk can delay the runtime's
			// response after this timestamp. So only the kubelet's next step sets an upper bound on the end of the
			// pull.
			c.bias, c.latest = biasEarliest, maxInstant
		}
		constraints = append(constraints, c)
	}
	if !p.pulled.known() {
		return constraints
	}
	event := p.pulled.responseConstraint(finished)
	if p.pulled.present {
		event = p.pulled.constraint(finished) // the kubelet found the image on the node
	}
	if !p.eventOnTime() {
		event.earliest = minInstant
	}
	return append(constraints, event)
}

// responseConstraint returns the constraint that a kubelet Event sets on the time of the runtime's response.
func (w window) responseConstraint(k milestoneKey) constraint {
	c := w.constraint(k)
	if c.origin == originEventName || c.origin == originEventSecond {
		c.earliest -= responseDelay - eventSlack // the window already includes eventSlack
	}
	return c
}

// responseDelayed reports whether the kubelet's next step came unusually late after the timestamp of a container's
// image. The delay has two possible causes. A busy disk might have slowed the runtime's last writes before its
// response. Or the kubelet might have received the response late, because the kubelet was stopped or lacked CPU.
func (f *fold) responseDelayed(index int16, next milestoneKey) bool {
	p := f.pulls[index]
	if p.pulled.known() {
		return p.eventLate()
	}
	b := f.bounds.find(next)
	return p.runtimeEnd.hasUpperBound() && b != nil && b.latest > p.runtimeEnd.latest
}
