package timeline

import (
	"time"
)

// answerSlack bounds how long the runtime takes from an image's stamp to its answer: containerd writes the image under
// its other names, a write to its database each, and reads how large it is (internal/cri/server/images, PullImage).
const answerSlack = instant(250 * time.Millisecond)

// pullEnd is when the runtime had what a pull brought, and had said so, by the image's stamps: the kubelet, starved or stopped,
// may hear of it at any time later. latest is maxInstant where nothing ends it; the zero value tells nothing.
type pullEnd struct{ earliest, latest instant }

func (s pullEnd) known() bool { return s.earliest != 0 }

// bounded says that the stamps leave no doubt that the pull was over.
func (s pullEnd) bounded() bool { return s.known() && s.latest != maxInstant }

// pullEndBetween is a pull whose runtime answered after the first instant, and to which the stamp of the last one belongs at the latest.
func pullEndBetween(from, last instant) pullEnd { return pullEnd{from, last + answerSlack} }

// pullEnd is what an image's stamps tell of the end of a container's pull. Stamps that are older than the pull or later than
// the kubelet's word of it are of others' pulls, or of restarts.
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
	case of(last) && !p.present && at(image.last.askedAt) >= p.latest: // no later pull is in there, so this one is
		if ofFirst && !image.pulledOnce() {
			return pullEndBetween(at(first), at(last)) // of two at the same time
		}
		return pullEndBetween(at(last), at(last))
	case of(last):
		return pullEnd{at(last), maxInstant}
	case ofFirst:
		return pullEnd{at(first), maxInstant}
	}
	return pullEnd{}
}

// pullEndWithoutEvent is that of a pull of which no Event tells: if the image had been pulled once when the container was made, and
// not before it was the container's turn, that was this pull, unless another container of the pod has the same image, or pulls
// failed: then somebody else may have brought it while the kubelet waited to try again.
func (f *fold) pullEndWithoutEvent(index int16, image *imageEvidence) pullEnd {
	first, last, used := image.last.FirstPulledAt, image.last.PulledAt, f.e.usedBy(index)
	if !image.wasAbsent() || first.IsZero() || used == maxInstant {
		return pullEnd{}
	}
	mayBeOwn := f.pulls[index].finalAttempt == 0 && image.pulledOnce() && at(last) <= used && at(image.last.askedAt) >= used
	c := f.e.specOf(index)
	if start := f.e.workStart(c); !mayBeOwn || f.e.only(image.Ref) == nil || at(last) < start || f.mayStartWorkLater(c, index, at(last)) {
		return pullEnd{max(at(first), start), maxInstant}
	}
	return pullEndBetween(at(last), at(last))
}

// only is the one container of the pod with an image; nil if there are more, of which any may have pulled it.
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

// began is when the runtime was asked, by the kubelet's length; of old kubelets, when the pull was requested.
func (p pulledEvent) began() instant {
	switch l := p.lengths; {
	case l.Timed:
		return p.latest - instant(l.Pull+l.Unit+durationSlack)
	case l.WaitingTimed:
		return p.latest - instant(l.Waiting+l.Unit+durationSlack)
	}
	return minInstant
}

// eventOnTime says that nothing shows that the kubelet told of the pull's end later than it does as a rule. If it was late, its length
// of the pull holds what it was late by.
func (p pullEvidence) eventOnTime() bool {
	return !p.runtimeEnd.bounded() || p.pulled.earliest <= p.runtimeEnd.earliest
}

// eventLate says that the kubelet heard of the pull's end when the runtime had long answered.
func (p pullEvidence) eventLate() bool {
	return !p.eventOnTime() && p.pulled.latest > p.runtimeEnd.latest
}

// endConstraints dates the end of the pull that succeeded.
func (p pullEvidence) endConstraints(finished markKey) []constraint {
	var constraints []constraint
	if p.runtimeEnd.known() {
		c := constraint{finished, originStore, leanNone, p.runtimeEnd.earliest, p.runtimeEnd.latest}
		if p.runtimeEnd.bounded() && (p.pulled.origin != originEventName || p.eventLate()) { // to what is nearer than the next sign of the kubelet
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

// answerDelayed says that nothing tells what passed between the stamp of a container's image and the kubelet's next step, because
// that took longer than it does as a rule. The runtime writes the image down once more before it answers, which takes
// long on a busy disk; or the kubelet, starved or stopped, heard the answer late.
func (f *fold) answerDelayed(index int16, next markKey) bool {
	p := f.pulls[index]
	if p.pulled.known() {
		return p.eventLate()
	}
	b := f.bounds.find(next)
	return p.runtimeEnd.bounded() && b != nil && b.latest > p.runtimeEnd.latest
}
