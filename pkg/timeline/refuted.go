package timeline

import (
	"fmt"
	"slices"
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
func (r refuter) believed(c *containerEvidence) (p pulledEvent, refuted []refutedEvent) {
	if !c.pulled.known() {
		return pulledEvent{}, nil
	}
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
		case why == "" && (o.earliest <= p.latest || o.latest <= r.used) && !p.present && !o.present && p.lengths != o.lengths:
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
	absent instant // until then the runtime says that the image is absent
	turn   instant // kubelet did not turn to the container before
	image  uint64  // textHash of the container's; 0 while it is not known
	there  bool    // the runtime had the image before the sandbox and did not pull it since
	used   instant // the container was made by then, at the first try; minInstant where nothing tells
}

func (e *Evidence) refuter(index int16) refuter {
	c := e.specOf(index)
	if c == nil {
		return refuter{absent: minInstant, turn: minInstant, used: minInstant}
	}
	r := refuter{absent: e.absentUntil(index), turn: e.firstTurn(c), image: textHash(c.Image), used: minInstant}
	if image := e.image(c.Image); image != nil {
		r.there = image.beforeSandbox && !image.wasAbsent() && !image.PulledAt.IsZero() && !image.pulledAgain()
	}
	if used := e.usedBy(index); used != maxInstant && !e.wasRefused(index) {
		r.used = used
	}
	return r
}

// firstTurn is when kubelet turned to a container for the first time at the earliest: it had taken the pod up, and pulls image
// volumes then; its first sandbox ran; and it was done with each container before.
func (e *Evidence) firstTurn(c *Container) instant {
	turn := minInstant
	if e.pod.ReadAt.IsZero() && !e.pod.AcknowledgedAt.IsZero() {
		turn = at(e.pod.AcknowledgedAt)
	}
	if c.Kind == KindImageVolume {
		return turn
	}
	turn = max(turn, e.runtimeSays(podMark(MarkSandboxRunning)))
	for i := range e.pod.Containers {
		before := &e.pod.Containers[i]
		if before.Name == c.Name {
			break
		}
		if index := e.indexNear(i, before.Name); index != podWide {
			turn = max(turn, e.doneWith(before, index, turn))
		}
	}
	return turn
}

// doneWith is when kubelet, which turned to a container no sooner than told, went on to the next one at the earliest, as the runtime
// says. It goes on from an init container once that succeeded, and from a main container, too, if it cannot start it.
func (e *Evidence) doneWith(c *Container, index int16, turn instant) instant {
	of := &e.containers[index]
	switch c.Kind {
	case KindInit:
		done := e.runtimeSays(markKey{index, 0, MarkRunning})
		for attempt := range uint16(maxAttempts) {
			done = max(done, e.runtimeSays(markKey{index, attempt, MarkFinished}))
			if code, known := of.exitCode(int(attempt)); !known || code == 0 {
				break
			}
		}
		return done
	case KindSidecar:
		return e.runtimeSays(markKey{index, 0, MarkRunning})
	case KindMain:
		ran := e.runtimeSays(markKey{index, 0, MarkRunning})
		if of.toldFailed == nil && !e.wasRefused(index) && !of.failedIn(turn, ran) {
			return ran
		}
	}
	return minInstant
}

// failedIn says that an Event tells of a failure to get the container's image in between.
func (c *containerEvidence) failedIn(from, to instant) bool {
	within := func(w window) bool { return w.latest >= from && w.earliest <= to }
	if slices.ContainsFunc(c.failures, func(f failureEvent) bool { return within(f.window) }) {
		return true
	}
	if c.pulled.known() {
		to = min(to, c.pulled.latest)
	}
	if len(c.requested) > 0 { // after that kubelet does not ask for the image
		to = min(to, c.requested[0].latest)
	}
	return slices.ContainsFunc(c.inspected, within)
}

// runtimeSays is when a mark was at the earliest, as the runtime says; minInstant where it says nothing of it.
func (e *Evidence) runtimeSays(k markKey) instant {
	since := minInstant
	for _, c := range e.claims[placeOf(e.claims, k):] {
		if c.key != k || c.origin > originStore {
			break
		}
		since = max(since, c.earliest)
	}
	return since
}

// early is why an Event about a container cannot be true; empty if its time does not refute it.
func (r refuter) early(latest instant) string {
	if latest >= r.turn {
		return ""
	}
	return "the kubelet turned to the container no sooner than at " + r.turn.time().Format(time.RFC3339Nano)
}

// maxRequests is how many Events of one container that say that kubelet asked for the first pull are kept, the earliest, and
// how many that say that the runtime did not tell whether it has the image.
const maxRequests = 16

// requests are those for a container's image that nothing refutes. Of several Events that say when the first was, all count:
// kubelet makes one and counts it up, unless it started anew. Where it also tells how long it waited for the pull that
// succeeded, the earliest is another attempt.
func (e *Evidence) requests(index int16, p *pullEvidence) []claim {
	own := &e.containers[index]
	first, key := window{}, markKey{index, 0, MarkPullRequested}
	for _, w := range own.requested {
		switch {
		case p.early(w.latest) != "":
			p.refuted = true
		case !first.known():
			first = w
		case p.pulled.lengths.WaitingTimed || !p.precedes(own, w):
		default:
			first.latest, first.lean = max(first.latest, w.latest), leanNone
		}
	}
	var all []claim
	if first.known() {
		all = append(all, first.claim(key))
	}
	for _, c := range e.claims[placeOf(e.claims, key):] {
		if c.key.container != index || c.key.mark != MarkPullRequested {
			break
		}
		if p.early(c.latest) == "" {
			all = append(all, c)
		}
	}
	return all
}

// precedes says that a request comes before every word of how a pull ended.
func (p *pullEvidence) precedes(c *containerEvidence, w window) bool {
	return (!p.pulled.known() || w.earliest <= p.pulled.latest) && (len(c.failures) == 0 || w.earliest <= c.failures[0].latest)
}

// inspectClaims date that the runtime did not say whether it has a container's image, the first time, before anything was pulled.
func (f *fold) inspectClaims(index int16) []claim {
	for _, w := range f.e.containers[index].inspected {
		if w.latest <= f.firstSign(index) && f.pulls[index].early(w.latest) == "" {
			return []claim{w.claim(markKey{index, 0, MarkInspectFailed})}
		}
	}
	return nil
}

// why is what refutes an Event; empty if nothing does.
func (r refuter) why(p pulledEvent) string {
	longest := p.latest - instant(max(p.lengths.Pull, p.lengths.Waiting))
	switch {
	case p.latest < r.absent:
		return "the runtime says that the image was absent until " + r.absent.time().Format(time.RFC3339Nano)
	case r.image != 0 && p.image != 0 && p.image != r.image:
		return "the container has another image"
	}
	return r.early(longest)
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
func (e *Evidence) refutesFailure(index int16, r refuter, pulled pulledEvent, failed failureEvent) string {
	if why := r.early(failed.latest); why != "" {
		return why
	}
	if r.there && pulled.present {
		return "the runtime had the image all the time"
	}
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
	r := f.pulls[index].refuter
	pulled, refuted := r.believed(evidence)
	var all []disagreement
	for _, failed := range evidence.failures {
		if why := f.e.refutesFailure(index, r, pulled, failed); why != "" {
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
