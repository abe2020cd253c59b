package timeline

import (
	"time"
)

// answerSlack bounds how long the runtime takes from an image's stamp to its answer: containerd writes the image under
// its other names, a write to its database each, and reads how large it is (internal/cri/server/images, PullImage).
const answerSlack = instant(250 * time.Millisecond)

// storing is when the runtime had what a pull brought, and had said so, by the image's stamps: kubelet, starved or stopped,
// may hear of it at any time later. latest is maxInstant where nothing ends it; the zero value tells nothing.
type storing struct{ earliest, latest instant }

func (s storing) known() bool { return s.earliest != 0 }

// ends says that the stamps leave no doubt that the pull was over.
func (s storing) ends() bool { return s.known() && s.latest != maxInstant }

// ended is a pull whose runtime answered after the first instant, and to which the stamp of the last one belongs at the latest.
func ended(from, last instant) storing { return storing{from, last + answerSlack} }

// storedBy is what an image's stamps tell of the end of a container's pull. Stamps that are older than the pull or later than
// kubelet's word of it are of others' pulls, or of restarts.
func (f *fold) storedBy(index int16) storing {
	image, p := f.e.pulledImage(f.e.containers[index].name), f.pulls[index].pulled
	switch {
	case image == nil:
		return storing{}
	case !p.known():
		return f.storedUntold(index, image)
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
			return ended(at(first), at(last)) // of two at the same time
		}
		return ended(at(last), at(last))
	case of(last):
		return storing{at(last), maxInstant}
	case ofFirst:
		return storing{at(first), maxInstant}
	}
	return storing{}
}

// storedUntold is that of a pull of which no Event tells: if the image had been pulled once when the container was made, and
// not before it was the container's turn, that was this pull, unless another container of the pod has the same image, or pulls
// failed: then somebody else may have brought it while kubelet waited to try again.
func (f *fold) storedUntold(index int16, image *imageEvidence) storing {
	first, last, used := image.last.FirstPulledAt, image.last.PulledAt, f.e.usedBy(index)
	if !image.wasAbsent() || first.IsZero() || used == maxInstant {
		return storing{}
	}
	mayBeOwn := f.pulls[index].final == 0 && image.pulledOnce() && at(last) <= used && at(image.last.askedAt) >= used
	c := f.e.specOf(index)
	if turn := f.e.turnOf(c); !mayBeOwn || f.e.only(image.Ref) == nil || at(last) < turn || f.mayTurnLater(c, index, at(last)) {
		return storing{max(at(first), turn), maxInstant}
	}
	return ended(at(last), at(last))
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

// began is when the runtime was asked, by kubelet's length; of old kubelets, when the pull was requested.
func (p pulledEvent) began() instant {
	switch l := p.lengths; {
	case l.Timed:
		return p.latest - instant(l.Pull+l.Unit+durationSlack)
	case l.WaitingTimed:
		return p.latest - instant(l.Waiting+l.Unit+durationSlack)
	}
	return minInstant
}

// prompt says that nothing shows that kubelet told of the pull's end later than it does as a rule. If it was late, its length
// of the pull holds what it was late by.
func (p pullEvidence) prompt() bool {
	return !p.stored.ends() || p.pulled.earliest <= p.stored.earliest
}

// late says that kubelet heard of the pull's end when the runtime had long answered.
func (p pullEvidence) late() bool { return !p.prompt() && p.pulled.latest > p.stored.latest }

// endClaims dates the end of the pull that succeeded.
func (p pullEvidence) endClaims(finished markKey) []claim {
	var claims []claim
	if p.stored.known() {
		c := claim{finished, originStore, leanNone, p.stored.earliest, p.stored.latest}
		if p.stored.ends() && (p.pulled.origin != originEventName || p.late()) { // to what is nearer than the next sign of kubelet
			c.lean = leanEarliest
		}
		claims = append(claims, c)
	}
	if !p.pulled.known() {
		return claims
	}
	word := p.pulled.claim(finished)
	if !p.prompt() {
		word.earliest = minInstant
	}
	return append(claims, word)
}

// heardLate says that nothing tells what passed between the stamp of a container's image and kubelet's next step, because
// that took longer than it does as a rule. The runtime writes the image down once more before it answers, which takes
// long on a busy disk; or kubelet, starved or stopped, heard the answer late.
func (f *fold) heardLate(index int16, next markKey) bool {
	p := f.pulls[index]
	if p.pulled.known() {
		return p.late()
	}
	b := f.bounds.find(next)
	return p.stored.ends() && b != nil && b.latest > p.stored.latest
}
