package timeline

import (
	"cmp"
	"slices"
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

// pulledEvent is the first Event that says that a container's image is there; zero when none came.
type pulledEvent struct {
	window
	present bool   // it was there already
	image   uint64 // textHash of the one that it names
	lengths pullLengths
}

// pullLengths is what the kubelet's message tells of a pull beside its end; see imagepull.Message.
type pullLengths struct {
	Pull, Waiting, Unit time.Duration
	SizeBytes           int64
	Timed, WaitingTimed bool
}

// failureEvent is one pull that the runtime gave up.
type failureEvent struct {
	window
	atLeast uint16 // as many failed before, by the Event's count
	why     imagepull.Failure
}

// window is when an Event's subject happened, and who says so.
type window struct {
	origin           origin
	lean             lean
	earliest, latest instant
}

func (w window) known() bool { return w.latest != 0 }

func (w window) constraint(k markKey) constraint {
	return constraint{key: k, origin: w.origin, lean: w.lean, earliest: w.earliest, latest: w.latest}
}

// applyEvent keeps what the kubelet says, and reads what it says of a container's pulls. Other Events date nothing that
// the runtime does not date better.
func (e *Evidence) applyEvent(o EventSeen) {
	if o.FirstAt.IsZero() || o.LastAt.IsZero() || o.ofFuture() {
		return
	}
	if !e.ignoreMessages {
		e.keepMessage(o)
	}
	e.applyObstacle(o)
	message := imagepull.ParseMessage(o.Reason, o.Message)
	name := o.Container
	switch message.Kind {
	case imagepull.KindPulling, imagepull.KindPulled, imagepull.KindAlreadyPresent, imagepull.KindPullFailed:
	case imagepull.KindInspectFailed:
		if name == "" || message.Combined {
			return // of which container, nothing tells: the reference is often left out
		}
	default:
		e.applyCreateFailure(o)
		return
	}
	if message.Combined {
		// It stands for several occurrences, of which only the text and the latest stamp are of this one.
		o.NamedAt, o.FirstAt, o.Count = time.Time{}, o.LastAt, 1
	}
	if message.Combined || name == "" { // the kubelet's Events about image volumes have no fieldPath
		name = ImageName(message.Image)
	}
	index, evidence := e.container(name)
	if evidence == nil {
		return
	}
	switch message.Kind {
	case imagepull.KindPulling:
		e.applyPulling(index, evidence, o)
	case imagepull.KindInspectFailed:
		keepEarliest(e, &evidence.inspected, firstOccurrence(o), maxRequests)
	case imagepull.KindPullFailed:
		keepEarliest(e, &evidence.failures, failureEvent{firstOccurrence(o), 0, message.Failure}, maxFailures)
		if o.Count > 1 {
			e.keepRepeated(evidence, failureEvent{latestOccurrence(o), clampAttempt(min(o.Count, maxAttempts) - 1), message.Failure})
		}
	default:
		e.applyPulled(evidence, o, message)
	}
}

// applyPulling dates the first request by the Event's name, and the latest by its stamps.
func (e *Evidence) applyPulling(index int16, evidence *containerEvidence, o EventSeen) {
	stamp := second(markKey{}, originEventSecond, o.FirstAt)
	first := window{stamp.origin, stamp.lean, stamp.earliest, stamp.latest}
	if !o.NamedAt.IsZero() {
		// The Event is made just before the pull is handed to the queue.
		named := at(o.NamedAt)
		first = window{originEventName, leanEarliest, named, named + eventSlack}
	}
	keepEarliest(e, &evidence.requested, first, maxRequests)
	if o.Count > 1 {
		k := markKey{index, clampAttempt(o.Count - 1), MarkPullRequested}
		c := second(k, originEventSecond, o.LastAt)
		c.latest += eventSlack // as above
		e.constrain(c)
		if o.Live { // right after the request, which the stamp has to the second only
			e.constrain(constraint{k, originEventArrival, leanSlack, minInstant, at(o.ArrivedAt) + eventSlack})
		}
	}
}

// applyPulled keeps the first word that the image is there.
func (e *Evidence) applyPulled(c *containerEvidence, o EventSeen, m imagepull.Message) {
	p := pulledEvent{firstOccurrence(o), m.Kind == imagepull.KindAlreadyPresent,
		textHash(m.Image), pullLengths{m.Pull, m.Waiting, m.Unit, m.SizeBytes, m.Timed, m.WaitingTimed}}
	e.keepPulled(c, p)
}

// compare is by time; in the same floored second the pull came first, since afterwards there is none.
func (p pulledEvent) compare(o pulledEvent) int {
	return cmp.Or(p.window.compare(o.window), compareBools(p.present, o.present),
		cmp.Compare(p.lengths.Pull, o.lengths.Pull), cmp.Compare(p.lengths.Waiting, o.lengths.Waiting),
		cmp.Compare(p.lengths.SizeBytes, o.lengths.SizeBytes), cmp.Compare(p.lengths.Unit, o.lengths.Unit), cmp.Compare(p.image, o.image))
}

func (f failureEvent) compare(o failureEvent) int {
	return cmp.Or(f.window.compare(o.window), cmp.Compare(f.atLeast, o.atLeast), cmp.Compare(f.why, o.why))
}

// keepEarliest adds to a list in the order of time, of which the earliest ones are kept, up to a limit.
func keepEarliest[F interface{ compare(F) int }](e *Evidence, list *[]F, f F, limit int) {
	i, found := slices.BinarySearchFunc(*list, f, F.compare)
	if found || i == limit {
		return
	}
	longer := slices.Insert(*list, i, f)
	*list, e.changed = longer[:min(len(longer), limit)], true
}

func (w window) compare(o window) int {
	return cmp.Or(cmp.Compare(w.latest, o.latest), cmp.Compare(w.earliest, o.earliest),
		cmp.Compare(w.origin, o.origin), cmp.Compare(w.lean, o.lean))
}

// firstOccurrence is the moment that the Event's name tells: the kubelet makes the Event right after
// what it reports.
func firstOccurrence(o EventSeen) window {
	if o.NamedAt.IsZero() {
		return floored(o.FirstAt)
	}
	named := at(o.NamedAt)
	return window{originEventName, leanLatest, named - eventSlack, named}
}

// latestOccurrence is the moment that the stamps tell once the Event repeats: to a second, and if the news of it came live
// no later than that.
func latestOccurrence(o EventSeen) window {
	if o.Count <= 1 {
		return firstOccurrence(o)
	}
	w := floored(o.LastAt)
	if arrived := at(o.ArrivedAt); o.Live && arrived > w.earliest && arrived < w.latest {
		w.latest, w.lean = arrived, leanLatest
	}
	return w
}

// keepRepeated keeps one occurrence of a failure that repeats: of what is told of it again, the earliest word.
func (e *Evidence) keepRepeated(c *containerEvidence, f failureEvent) {
	for i, known := range c.failures {
		if known.atLeast != f.atLeast || known.why != f.why || known.earliest != f.earliest {
			continue
		}
		if f.compare(known) >= 0 {
			return
		}
		c.failures = slices.Delete(c.failures, i, i+1)
		break
	}
	keepEarliest(e, &c.failures, f, maxFailures)
}

// floored is the second in which the kubelet made an Event about something over, which may be from the end of the
// one before.
func floored(t time.Time) window {
	c := second(markKey{}, originEventSecond, t)
	return window{c.origin, leanNone, c.earliest - eventSlack, c.latest}
}
