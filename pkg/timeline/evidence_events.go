package timeline

import (
	"cmp"
	"slices"
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

// pulledEvent is an Event that reports that a container's image is present. The zero value means that no Event about
// the image is known.
type pulledEvent struct {
	window
	present bool   // the image was already present, so the kubelet did not pull it
	checked bool   // the kubelet checked whether the pod has access to the image that was already present
	image   uint64 // textHash of the image that the Event names
	lengths pullLengths
}

// pullLengths holds the durations and the size from the kubelet's message about a pull. See imagepull.Message.
type pullLengths struct {
	Pull, Waiting, Unit time.Duration
	SizeBytes           int64
	Timed, WaitingTimed bool
}

// failureEvent is one failed pull.
type failureEvent struct {
	window
	atLeast uint16 // at least this many pulls failed earlier, according to the Event's count
	why     imagepull.Failure
	image   uint64 // textHash of the image that the Event names; 0 if a status reports the failure
}

// requestEvent is the time of the kubelet's first request to pull an image. The field "image" is textHash of the image.
type requestEvent struct {
	window
	image uint64
	count int // the Event's count
}

// window is the interval in which something happened, for example the occurrence of an Event. The field "origin" is the
// kind of evidence that the interval comes from.
type window struct {
	origin           origin
	bias             bias
	earliest, latest instant
}

// arrivalWindow returns the interval of something that the pod watch reports. The interval ends at the time t, when the
// observation arrived.
func arrivalWindow(t time.Time, live bool) window {
	w := window{origin: originArrival, earliest: minInstant, latest: at(t)}
	if live {
		w.bias = biasLatest
	}
	return w
}

func (w window) known() bool { return w.latest != 0 }

func (w window) constraint(k milestoneKey) constraint {
	return constraint{key: k, origin: w.origin, bias: w.bias, earliest: w.earliest, latest: w.latest}
}

// applyEvent keeps the text of an Event. It also adds the Event's facts about three topics: obstacles, image pulls, and
// failures to create a container. For other steps, such as the start of a container, applyEvent ignores the Event's
// time, because the runtime reports more precise times.
func (e *Evidence) applyEvent(o EventSeen) {
	if o.FirstAt.IsZero() || o.LastAt.IsZero() || o.ofFuture() {
		return
	}
	if !e.ignoreMessages {
		e.keepMessage(o)
	}
	e.countEvent(o)
	e.applyObstacle(o)
	message := imagepull.ParseMessage(o.Reason, o.Message)
	name := o.Container
	switch message.Kind {
	case imagepull.KindPulling, imagepull.KindPulled, imagepull.KindAlreadyPresent, imagepull.KindPullFailed:
	case imagepull.KindInvalidName:
		if message.Combined {
			return // an earlier Event reported the same invalid name
		}
	case imagepull.KindInspectFailed:
		if name == "" || message.Combined {
			return // the Event does not show which container it concerns, and often names no image
		}
	default:
		e.applyCreateFailure(o)
		return
	}
	if message.Combined {
		// A combined Event represents several occurrences. Its text describes only the occurrence at the latest
		// timestamp.
		o.NamedAt, o.FirstAt, o.Count = time.Time{}, o.LastAt, 1
	}
	if message.Combined || name == "" { // Events about image volumes have no fieldPath
		name = ImageName(message.Image)
	}
	index, evidence := e.container(name)
	if evidence == nil {
		return
	}
	switch message.Kind {
	case imagepull.KindPulling:
		e.applyPulling(index, evidence, o, textHash(message.Image))
	case imagepull.KindInvalidName:
		keepEarliest(e, &evidence.misnamed, firstOccurrence(o), maxRequests)
		e.keepMost(&evidence.failedChecks, o)
	case imagepull.KindInspectFailed:
		keepEarliest(e, &evidence.inspected, firstOccurrence(o), maxRequests)
		e.keepMost(&evidence.failedChecks, o)
	case imagepull.KindPullFailed:
		keepEarliest(e, &evidence.failures,
			failureEvent{firstOccurrence(o), 0, message.Failure, textHash(message.Image)}, maxFailures)
		if o.Count > 1 {
			e.keepRepeated(evidence, failureEvent{latestOccurrence(o), clampAttempt(min(o.Count, maxAttempts) - 1),
				message.Failure, textHash(message.Image)})
		}
	default:
		e.applyPulled(evidence, o, message)
	}
}

// applyPulling takes the time of the kubelet's first pull request from the Event's name, or else from the Event's first
// timestamp. If the Event repeats, applyPulling takes the time of the latest request from the Event's last timestamp.
// If a repeated Event arrives live, its arrival time also limits the time of the latest request.
func (e *Evidence) applyPulling(index int16, evidence *containerEvidence, o EventSeen, image uint64) {
	stamp := second(milestoneKey{}, originEventSecond, o.FirstAt)
	first := window{stamp.origin, stamp.bias, stamp.earliest, stamp.latest}
	if !o.NamedAt.IsZero() {
		// The kubelet creates the Event immediately before it queues the pull.
		named := at(o.NamedAt)
		first = window{originEventName, biasEarliest, named, named + eventSlack}
	}
	event := requestEvent{first, image, o.Count}
	keepEarliest(e, &evidence.requested, event, maxRequests)
	if i, found := slices.BinarySearchFunc(evidence.requested, event, requestEvent.compare); found {
		known := &evidence.requested[i]
		known.count, e.changed = max(known.count, o.Count), e.changed || o.Count > known.count
	}
	if o.Count > 1 {
		k := milestoneKey{index, clampAttempt(o.Count - 1), MilestonePullRequested}
		c := second(k, originEventSecond, o.LastAt)
		c.latest += eventSlack // the kubelet creates the Event up to eventSlack before it queues the pull
		e.constrain(c)
		// The Event's timestamp is truncated to seconds. The arrival of a live Event is more precise, because the Event
		// arrives immediately after the kubelet requests the pull.
		if o.Live {
			e.constrain(constraint{k, originEventArrival, biasSlack, minInstant, at(o.ArrivedAt) + eventSlack})
		}
	}
}

// applyPulled records that the image is present.
func (e *Evidence) applyPulled(c *containerEvidence, o EventSeen, m imagepull.Message) {
	p := pulledEvent{firstOccurrence(o), m.Kind == imagepull.KindAlreadyPresent, m.AccessChecked,
		textHash(m.Image), pullLengths{m.Pull, m.Waiting, m.Unit, m.SizeBytes, m.Timed, m.WaitingTimed}}
	e.keepPulled(c, p)
	if n := clampAttempt(int(o.Count)); p.present && n > c.presentCount {
		c.presentCount, e.changed = n, true
	}
}

// compare orders Events by time. If two Events have the same interval, an Event about a completed pull comes before an
// Event about an image that was already present.
func (p pulledEvent) compare(o pulledEvent) int {
	return cmp.Or(p.window.compare(o.window), compareBools(p.present, o.present),
		compareBools(p.checked, o.checked),
		cmp.Compare(p.lengths.Pull, o.lengths.Pull), cmp.Compare(p.lengths.Waiting, o.lengths.Waiting),
		cmp.Compare(p.lengths.SizeBytes, o.lengths.SizeBytes), cmp.Compare(p.lengths.Unit, o.lengths.Unit),
		cmp.Compare(p.image, o.image))
}

func (f failureEvent) compare(o failureEvent) int {
	return cmp.Or(f.window.compare(o.window), cmp.Compare(f.atLeast, o.atLeast), cmp.Compare(f.why, o.why),
		cmp.Compare(f.image, o.image))
}

//nolint:unused // keepEarliest calls this method
func (r requestEvent) compare(o requestEvent) int {
	return cmp.Or(r.window.compare(o.window), cmp.Compare(r.image, o.image))
}

// keepEarliest inserts an entry into a list that is sorted by time. If the list becomes longer than "limit",
// keepEarliest removes the latest entry.
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
		cmp.Compare(w.origin, o.origin), cmp.Compare(w.bias, o.bias))
}

// firstOccurrence returns the interval of an Event's first occurrence. The interval ends at the time in the Event's
// name, because the kubelet creates the Event immediately after the occurrence. If the name contains no time,
// firstOccurrence uses the Event's first timestamp.
func firstOccurrence(o EventSeen) window {
	if o.NamedAt.IsZero() {
		return windowOfSecond(o.FirstAt)
	}
	named := at(o.NamedAt)
	return window{originEventName, biasLatest, named - eventSlack, named}
}

// latestOccurrence returns the interval of an Event's latest occurrence. For a repeated Event, latestOccurrence uses
// the Event's last timestamp. If a repeated Event arrived live within this interval, the interval ends at the arrival.
func latestOccurrence(o EventSeen) window {
	if o.Count <= 1 {
		return firstOccurrence(o)
	}
	w := windowOfSecond(o.LastAt)
	if arrived := at(o.ArrivedAt); o.Live && arrived > w.earliest && arrived < w.latest {
		w.latest, w.bias = arrived, biasLatest
	}
	return w
}

// keepRepeated adds the latest occurrence of a repeated failure. If several Events report the same occurrence,
// keepRepeated keeps the earliest report.
func (e *Evidence) keepRepeated(c *containerEvidence, f failureEvent) {
	for i, known := range c.failures {
		if known.atLeast != f.atLeast || known.why != f.why || known.image != f.image ||
			known.earliest != f.earliest {
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

// windowOfSecond returns the interval of an Event timestamp that is truncated to seconds. The occurrence can be up to
// eventSlack earlier than the truncated timestamp.
func windowOfSecond(t time.Time) window {
	c := second(milestoneKey{}, originEventSecond, t)
	return window{c.origin, biasNone, c.earliest - eventSlack, c.latest}
}
