package timeline

import (
	"fmt"
	"time"
)

// An Event is a hint: whoever may create Events in a namespace can create one that looks like the kubelet's. What the
// runtime refutes counts as a conflict and changes nothing.

// futureSlack is how much later than its arrival an Event may be dated: the kubelet's clock is the agent's, and a stamp is
// floored to a second, but a clock may be set back in between.
const futureSlack = time.Second

// maxPulledEvents is how many Events of one container that say that its image is there are kept, the earliest: the kubelet
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
		c.pulled, e.changed = p, true
	case p.compare(c.pulled) == 0:
	case p.compare(c.pulled) < 0:
		earliest := c.pulled
		c.pulled, e.changed = p, true
		keepEarliest(e, &c.laterPulled, earliest, maxPulledEvents-1)
	default:
		keepEarliest(e, &c.laterPulled, p, maxPulledEvents-1)
	}
}

// firstCredible is the first Event that says that a container's image is there and that nothing refutes; refuted are those before
// it. Of several that tell different lengths of what may be one pull, none is believed to tell them.
func (r refuter) firstCredible(c *containerEvidence) (p pulledEvent, refuted []refutedEvent) {
	if !c.pulled.known() {
		return pulledEvent{}, nil
	}
	if reason := r.refutes(c.pulled); reason != "" {
		refuted = append(refuted, refutedEvent{c.pulled, reason})
	} else {
		p = c.pulled
	}
	for _, o := range c.laterPulled {
		switch reason := r.refutes(o); {
		case !p.known() && reason != "":
			refuted = append(refuted, refutedEvent{o, reason})
		case !p.known():
			p = o
		case reason == "" && o.began() <= p.latest && !p.present && !o.present && p.lengths != o.lengths:
			p.latest, p.lean, p.lengths = max(p.latest, o.latest), leanNone, pullLengths{}
		}
	}
	return p, refuted
}

// refutedEvent is one that counts for nothing, and why.
type refutedEvent struct {
	pulledEvent
	why string
}

// refuter is what has to be true of Events about the image of one container.
type refuter struct {
	absentUntil instant // until then the runtime says that the image is absent
	workStart   instant // the kubelet did not turn to the container before
	image       uint64  // textHash of the container's; 0 while it is not known
}

func (e *Evidence) refuter(index int16) refuter {
	c := e.specOf(index)
	if c == nil {
		return refuter{absentUntil: minInstant, workStart: minInstant}
	}
	return refuter{absentUntil: e.absentUntil(index), workStart: e.firstWorkStart(c), image: textHash(c.Image)}
}

// firstWorkStart is when the kubelet turned to a container for the first time at the earliest: it had taken the pod up, and pulls image
// volumes then; its first sandbox ran, and it starts ephemeral containers first; and it was done with the init containers and sidecars
// before. That it was done with a main container tells nothing: it goes on from one that it cannot start, and starts it later.
func (e *Evidence) firstWorkStart(c *Container) instant {
	start := minInstant
	if e.pod.ReadAt.IsZero() && !e.pod.AcknowledgedAt.IsZero() {
		start = at(e.pod.AcknowledgedAt)
	}
	if c.Kind == KindImageVolume {
		return start
	}
	start = max(start, e.runtimeEarliest(podMark(MarkSandboxRunning)))
	for i := range e.pod.Containers {
		before := &e.pod.Containers[i]
		if before.Name == c.Name || c.Kind == KindEphemeral {
			break
		}
		if before.Kind != KindInit && before.Kind != KindSidecar {
			continue
		}
		if index := e.indexNear(i, before.Name); index != podWide {
			start = max(start, e.completedAt(before, index))
		}
	}
	return start
}

// completedAt is when the kubelet went on for the first time from an init container or a sidecar at the earliest, as the runtime says.
func (e *Evidence) completedAt(c *Container, index int16) instant {
	done := e.runtimeEarliest(markKey{index, 0, MarkRunning})
	if c.Kind == KindSidecar {
		return done
	}
	for attempt := range uint16(maxAttempts) {
		done = max(done, e.runtimeEarliest(markKey{index, attempt, MarkFinished}))
		code, known := e.containers[index].exitCode(int(attempt))
		// With its sandbox an init container may have been lost that had succeeded, and the kubelet calls that a failure.
		if !known || code == 0 || e.runtimeEarliest(markKey{podWide, 1, MarkSandboxRunning}) != minInstant {
			break
		}
	}
	return done
}

// tooEarly is why an Event about a container cannot be true; empty if its time does not refute it.
func (r refuter) tooEarly(latest instant) string {
	if latest >= r.workStart {
		return ""
	}
	return "the kubelet turned to the container no sooner than at " + r.workStart.time().Format(time.RFC3339Nano)
}

// refutes is what refutes an Event; empty if nothing does.
func (r refuter) refutes(p pulledEvent) string {
	longest := p.latest - instant(max(p.lengths.Pull, p.lengths.Waiting))
	switch {
	case p.latest < r.absentUntil:
		return "the runtime says that the image was absent until " + r.absentUntil.time().Format(time.RFC3339Nano)
	case r.image != 0 && p.image != 0 && p.image != r.image:
		return "the container has another image"
	}
	return r.tooEarly(longest)
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

// refutesFailure is why the kubelet's word that a pull failed cannot be true; empty if nothing refutes it.
func (e *Evidence) refutesFailure(index int16, r refuter, pulled pulledEvent, failed failureEvent) string {
	if reason := r.tooEarly(failed.latest); reason != "" {
		return reason
	}
	began := pulled.latest - instant(pulled.lengths.Waiting)
	if pulled.lengths.WaitingTimed && began < failed.earliest && failed.latest < pulled.earliest && e.runtimeConfirms(index, pulled) {
		return "a pull of the image that succeeded went on then"
	}
	return ""
}

// runtimeConfirms says that the runtime's stamps of an image confirm when a pull of it ended.
func (e *Evidence) runtimeConfirms(index int16, pulled pulledEvent) bool {
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
func (f *fold) refutations(index int16) []markConflict {
	evidence := f.e.pullEventsOf(index)
	r := f.pulls[index].refuter
	pulled, refuted := r.firstCredible(evidence)
	var all []markConflict
	for _, failed := range evidence.failures {
		if reason := f.e.refutesFailure(index, r, pulled, failed); reason != "" {
			c := failed.constraint(markKey{index, 0, MarkPullFailed})
			all = append(all, markConflict{c.key, fmt.Sprintf("%s says %s: %s", c.origin, interval(c.earliest, c.latest), reason)})
		}
	}
	early := func(windows []window, mark Mark) {
		for _, w := range windows {
			if reason := r.tooEarly(w.latest); reason != "" {
				c := w.constraint(markKey{index, 0, mark})
				all = append(all, markConflict{c.key, fmt.Sprintf("%s says %s: %s", c.origin, interval(c.earliest, c.latest), reason)})
			}
		}
	}
	early(f.e.containers[index].requested, MarkPullRequested)
	early(f.e.containers[index].inspected, MarkInspectFailed)
	for _, p := range refuted {
		c := p.constraint(markKey{index, 0, MarkPullFinished})
		all = append(all, markConflict{c.key, fmt.Sprintf("%s says %s: %s", c.origin, interval(c.earliest, c.latest), p.why)})
	}
	return all
}
