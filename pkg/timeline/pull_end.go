package timeline

import (
	"time"
)

// answerSlack bounds the time from an image's timestamp to the runtime's answer: containerd writes the image under
// its other names, one database write each, and reads its size (internal/cri/server/images, PullImage).
const answerSlack = instant(250 * time.Millisecond)

// pullEnd is when the runtime had stored a pulled image and answered, by the image's timestamps. The kubelet may
// learn of it at any later time if it was starved or stopped. latest is maxInstant without an upper bound. The zero
// value means unknown.
type pullEnd struct{ earliest, latest instant }

func (s pullEnd) known() bool { return s.earliest != 0 }

// bounded reports whether the timestamps prove that the pull was over.
func (s pullEnd) bounded() bool { return s.known() && s.latest != maxInstant }

// pullEndBetween is the end of a pull that the runtime answered after the instant first; the image's timestamp is not
// later than last.
func pullEndBetween(from, last instant) pullEnd { return pullEnd{from, last + answerSlack} }

// pullEnd is the end of a container's pull by the image's timestamps. Timestamps before the pull, or after the
// kubelet's Event about it, belong to pulls of others or to restarts.
func (f *fold) pullEnd(index int16) pullEnd {
	image, p := f.e.pulledImage(f.e.containers[index].name), f.pulls[index].pulled
	switch {
	case image == nil:
		return pullEnd{}
	case !p.known():
		return f.pullEndWithoutEvent(index, image)
	}
	began := minInstant
	if !p.present {
		began = p.began()
	}
	of := func(stamp time.Time) bool { return !stamp.IsZero() && began <= at(stamp) && at(stamp) <= p.latest }
	first, last := image.last.FirstPulledAt, image.last.PulledAt
	ofFirst := of(first) && image.wasAbsent()
	switch {
	case of(last) && !p.present && at(image.last.askedAt) >= p.latest:
		// There was no later pull, so the timestamp belongs to this one.
		if ofFirst && !image.pulledOnce() {
			return pullEndBetween(at(first), at(last)) // two pulls at the same time
		}
		return pullEndBetween(at(last), at(last))
	case of(last):
		return pullEnd{at(last), maxInstant}
	case ofFirst:
		return pullEnd{at(first), maxInstant}
	}
	return pullEnd{}
}

// pullEndWithoutEvent is the end of a pull that has no Event. The pull is this container's if the image had been
// pulled once when the container was created, and not before the kubelet started working on the container. This does
// not hold if another container of the pod has the same image, or if pulls failed, because another pod may have pulled
// it during the kubelet's back-off.
func (f *fold) pullEndWithoutEvent(index int16, image *imageEvidence) pullEnd {
	first, last, used := image.last.FirstPulledAt, image.last.PulledAt, f.e.usedBy(index)
	if !image.wasAbsent() || first.IsZero() || used == maxInstant {
		return pullEnd{}
	}
	mayBeOwn := f.pulls[index].finalAttempt == 0 && image.pulledOnce() && at(last) <= used &&
		at(image.last.askedAt) >= used
	c := f.e.specOf(index)
	if start := f.e.workStart(c); !mayBeOwn || f.e.only(image.Ref) == nil || at(last) < start ||
		f.mayStartWorkLater(c, index, at(last)) {
		return pullEnd{max(at(first), start), maxInstant}
	}
	return pullEndBetween(at(last), at(last))
}

// only returns the only container of the pod with an image; nil if several have it, because any of them may have pulled
// it.
func (e *Evidence) only(image string) (only *Container) {
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

// began is when the runtime was asked, by the kubelet's duration; for old kubelets, when the pull was requested.
func (p pulledEvent) began() instant {
	switch l := p.lengths; {
	case l.Timed:
		return p.latest - instant(l.Pull+l.Unit+durationSlack)
	case l.WaitingTimed:
		return p.latest - instant(l.Waiting+l.Unit+durationSlack)
	}
	return minInstant
}

// eventOnTime reports whether there is no evidence that the kubelet's Event about the pull's end was late. If it was
// late, the kubelet's duration of the pull includes the delay.
func (p pullEvidence) eventOnTime() bool {
	return !p.runtimeEnd.bounded() || p.pulled.earliest <= p.runtimeEnd.earliest
}

// eventLate reports whether the kubelet learned of the pull's end long after the runtime had answered.
func (p pullEvidence) eventLate() bool {
	return !p.eventOnTime() && p.pulled.latest > p.runtimeEnd.latest
}

// endConstraints dates the end of the pull that succeeded.
func (p pullEvidence) endConstraints(finished milestoneKey) []constraint {
	var constraints []constraint
	if p.runtimeEnd.known() {
		c := constraint{finished, originStore, leanNone, p.runtimeEnd.earliest, p.runtimeEnd.latest}
		if p.runtimeEnd.bounded() && (p.pulled.origin != originEventName || p.eventLate()) {
			// The image's timestamps bound the end more closely than the kubelet's next sign of work.
			c.lean = leanEarliest
		}
		constraints = append(constraints, c)
	}
	if !p.pulled.known() {
		return constraints
	}
	event := p.pulled.constraint(finished)
	if !p.eventOnTime() {
		event.earliest = minInstant
	}
	return append(constraints, event)
}

// answerDelayed reports whether the time between the timestamp of a container's image and the kubelet's next step is
// unusually long, so that its cause is unknown. Either the runtime took long to write the image again before it
// answered, because the disk was busy, or the kubelet, starved or stopped, got the answer late.
func (f *fold) answerDelayed(index int16, next milestoneKey) bool {
	p := f.pulls[index]
	if p.pulled.known() {
		return p.eventLate()
	}
	b := f.bounds.find(next)
	return p.runtimeEnd.bounded() && b != nil && b.latest > p.runtimeEnd.latest
}
