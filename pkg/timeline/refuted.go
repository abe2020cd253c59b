package timeline

import (
	"fmt"
	"time"
)

// An Event is a hint: whoever may create Events in a namespace can create one that looks like the kubelet's. What the
// runtime refutes counts as a conflict and changes nothing.

// futureSlack is how much later than its arrival an Event may be dated: kubelet's clock is the agent's, and a stamp is
// floored to a second, but a clock may be set back in between.
const futureSlack = time.Second

// maxPulledEvents is how many Events of one container that say that its image is there are kept, the earliest: kubelet
// makes one for each run, so that more come only of crash loops and of forgeries.
const maxPulledEvents = 16

// ofFuture says that an Event is dated later than it arrived.
func (o *EventSeen) ofFuture() bool {
	limit := o.ArrivedAt.Add(futureSlack)
	return !o.ArrivedAt.IsZero() && (o.NamedAt.After(limit) || o.FirstAt.After(limit) || o.LastAt.After(limit))
}

// keepPulled keeps the earliest Events that say that a container's image is there.
func (e *Evidence) keepPulled(c *containerEvidence, p pulledEvent) {
	switch {
	case !c.pulled.known():
		c.pulled, e.news = p, true
	case p.compare(c.pulled) == 0:
	case p.compare(c.pulled) < 0:
		earliest := c.pulled
		c.pulled, e.news = p, true
		keepEarliest(e, &c.laterPulled, earliest, maxPulledEvents-1)
	default:
		keepEarliest(e, &c.laterPulled, p, maxPulledEvents-1)
	}
}

// believed is the first Event that says that a container's image is there and that nothing refutes; refuted are those before
// it. Of several that tell different lengths of what may be one pull, none is believed to tell them.
func (e *Evidence) believed(index int16, c *containerEvidence) (p pulledEvent, refuted []refutedEvent) {
	if !c.pulled.known() {
		return pulledEvent{}, nil
	}
	r := e.refuter(index)
	if why := r.why(c.pulled); why != "" {
		refuted = append(refuted, refutedEvent{c.pulled, why})
	} else {
		p = c.pulled
	}
	for _, o := range c.laterPulled {
		switch why := r.why(o); {
		case !p.known() && why != "":
			refuted = append(refuted, refutedEvent{o, why})
		case !p.known():
			p = o
		case why == "" && o.earliest <= p.latest && !p.present && !o.present && p.lengths != o.lengths:
			p.lengths = pullLengths{}
		}
	}
	return p, refuted
}

// refutedEvent is one that counts for nothing, and why.
type refutedEvent struct {
	pulledEvent
	why string
}

// refuter is what has to be true of an Event that says that a container's image is there.
type refuter struct {
	absent instant // until then the runtime says that the image is absent
	turn   instant // kubelet did not turn to any container before
	image  uint64  // textHash of the container's; 0 while it is not known
}

func (e *Evidence) refuter(index int16) refuter {
	c := e.specOf(index)
	if c == nil {
		return refuter{absent: minInstant, turn: minInstant}
	}
	return refuter{absent: e.absentUntil(index), turn: e.firstTurn(c), image: textHash(c.Image)}
}

// firstTurn is when kubelet turned to any container at the earliest: it had taken the pod up, and its first sandbox ran. It
// pulls image volumes before.
func (e *Evidence) firstTurn(c *Container) instant {
	turn := minInstant
	if e.pod.ReadAt.IsZero() && !e.pod.AcknowledgedAt.IsZero() {
		turn = at(e.pod.AcknowledgedAt)
	}
	if c.Kind == KindImageVolume {
		return turn
	}
	for _, known := range e.claims { // the pod's come first
		if known.key.container != podWide {
			break
		}
		if known.key == podMark(MarkSandboxRunning) && known.origin <= originStore {
			turn = max(turn, known.earliest)
		}
	}
	return turn
}

// why is what refutes an Event; empty if nothing does.
func (r refuter) why(p pulledEvent) string {
	longest := p.latest - instant(max(p.lengths.Pull, p.lengths.Waiting))
	switch {
	case p.latest < r.absent:
		return "the runtime says that the image was absent until " + r.absent.time().Format(time.RFC3339Nano)
	case r.image != 0 && p.image != 0 && p.image != r.image:
		return "the container has another image"
	case longest < r.turn:
		return "the kubelet turned to the first container at " + r.turn.time().Format(time.RFC3339Nano)
	}
	return ""
}

// absentUntil is until when the runtime says that the image of a container was absent, if nothing was made from the image
// by then: it said so when it was asked, or its first stamp of the image, which was absent before, is of that instant. It is
// minInstant where the runtime says nothing of the kind.
func (e *Evidence) absentUntil(index int16) instant {
	c := e.specOf(index)
	if c == nil {
		return minInstant
	}
	image := e.image(c.Image)
	if image == nil || !image.wasAbsent() {
		return minInstant
	}
	absent := minInstant
	if !image.Present {
		absent = at(image.askedAt)
	}
	switch {
	case !image.last.Present:
		absent = max(absent, at(image.last.askedAt))
	case !image.last.FirstPulledAt.IsZero():
		absent = max(absent, at(image.last.FirstPulledAt))
	}
	if e.usedBy(index) <= absent {
		return minInstant
	}
	return absent
}

// refutesFailure is why kubelet's word that a pull failed cannot be true; empty if nothing refutes it.
func (e *Evidence) refutesFailure(index int16, pulled pulledEvent, failed failureEvent) string {
	began := pulled.latest - instant(pulled.lengths.Waiting)
	if pulled.lengths.WaitingTimed && began < failed.earliest && failed.latest < pulled.earliest && e.stamped(index, pulled) {
		return "a pull of the image that succeeded went on then"
	}
	return ""
}

// stamped says that the runtime's stamps of an image confirm when a pull of it ended.
func (e *Evidence) stamped(index int16, pulled pulledEvent) bool {
	c := e.specOf(index)
	if c == nil {
		return false
	}
	image := e.image(c.Image)
	if image == nil || !image.last.Present {
		return false
	}
	confirms := func(stamp time.Time) bool {
		return !stamp.IsZero() && at(stamp) <= pulled.latest && at(stamp) >= pulled.earliest-answerSlack
	}
	return confirms(image.last.FirstPulledAt) || confirms(image.last.PulledAt)
}

// refutations are the conflicts for the Events about a container's image that are refuted.
func (f *fold) refutations(index int16) []disagreement {
	evidence := f.e.toldOfPull(index)
	pulled, refuted := f.e.believed(index, evidence)
	var all []disagreement
	for _, failed := range evidence.failures {
		if why := f.e.refutesFailure(index, pulled, failed); why != "" {
			c := failed.claim(markKey{index, 0, MarkPullFailed})
			all = append(all, disagreement{c.key, fmt.Sprintf("%s says %s: %s", c.origin, interval(c.earliest, c.latest), why)})
		}
	}
	for _, p := range refuted {
		c := p.claim(markKey{index, 0, MarkPullFinished})
		all = append(all, disagreement{c.key, fmt.Sprintf("%s says %s: %s", c.origin, interval(c.earliest, c.latest), p.why)})
	}
	return all
}
