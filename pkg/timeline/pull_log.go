package timeline

import (
	"cmp"
	"slices"
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

const (
	// maxPullLog is the maximum number of pulls in the log. A node's pull queue rarely contains more than maxPullLog
	// pulls.
	maxPullLog = 256
	// The log attributes a wait to another pull only if the wait lasts at least leastBlocked, because the kubelet can
	// need this time to start the next pull.
	leastBlocked = 50 * time.Millisecond
)

// PullLog holds the node's latest pulls, from the kubelet's Events. PullLog shows for which other pull a pull waited,
// and whether another pull had already downloaded the image. The evidence about one pod cannot show these two facts.
// PullLog is not safe for concurrent use.
type PullLog struct {
	pulls    []loggedPull              // the oldest pull first
	pending  []loggedPull              // pulls of pods without a known sandbox; see sandboxKnown
	requests map[requester]pullRequest // the kubelet's latest request for each container
	layers   recentLayers
	images   map[string]imageResponseOf // the runtime's last response about each image, by normalized name
	// sandboxes holds the runtime's responses about the sandboxes of pods, by pod UID. sandboxes is nil until the
	// runtime's first response.
	sandboxes map[string]sandboxSince
	// completeSince is the time since which the log contains all pulls; see MissesPullsBefore.
	completeSince time.Time
}

// loggedPull is one completed pull.
type loggedPull struct {
	event       eventID
	image       string // normalized, so that all references to the image are equal
	uid         string
	failed      bool
	imageAbsent bool // the kubelet had found that the image was absent
	blocker     Blocker
	requestedAt time.Time // when the kubelet requested the pull, before any wait in the queue; zero if unknown
	from, until time.Time // start and end of the pull: the request to the runtime, and the runtime's response
	// If the start of the pull is unknown, startUnknown is true, and the field "from" equals requestedAt. For a failed
	// pull, startUnknown is always true.
	startUnknown    bool
	error           time.Duration
	overlappedUntil time.Time // end of the last proven overlap with another pull; zero if no overlap is proven
	dequeued        bool      // the pull waited a long time and began when another pull ended
	layers          []uint64  // the layerHash of each layer that the pull downloaded; nil if unknown
}

// eventID identifies one occurrence of an Event. Repeated or late deliveries of the same occurrence have the same
// eventID.
type eventID struct {
	uid, container, reason, image string
	// namedAt is the time of the Event's first occurrence. namedAt is truncated to seconds if the Event's name does not
	// contain the time.
	namedAt time.Time
	count   int
}

func eventIDOf(o EventSeen, container, image string) eventID {
	named := o.NamedAt
	if named.IsZero() {
		named = o.FirstAt
	}
	return eventID{o.UID, container, o.Reason, image, named, o.Count}
}

// Observe adds the pull or the pull request that an Event reports. Observe ignores Events that do not concern pulls.
func (l *PullLog) Observe(o EventSeen, pod Pod) {
	m := imagepull.ParseMessage(o.Reason, o.Message)
	reportedAt, bound := o.NamedAt, loggedError
	if m.Combined || reportedAt.IsZero() || o.Count > 1 {
		reportedAt, bound = o.LastAt, loggedError+floorError
		if o.Live && o.ArrivedAt.After(reportedAt) && o.ArrivedAt.Before(reportedAt.Add(time.Second)) {
			reportedAt = o.ArrivedAt
		}
	}
	name := o.Container
	if m.Combined || name == "" {
		name = ImageName(m.Image)
	}
	if o.ofFuture() || !pod.mayPull(name, m) && !l.isRequested(o.UID, name, m) {
		return // the Event is forged
	}
	logged := loggedPull{
		event: eventIDOf(o, name, m.Image), uid: o.UID, imageAbsent: pod.pullsIfAbsent(name),
		blocker: Blocker{pod.Namespace, pod.Name, name, m.Image, 0}, until: reportedAt, error: bound,
	}
	again := func(known loggedPull) bool { return known.event == logged.event }
	if slices.ContainsFunc(l.pulls, again) || slices.ContainsFunc(l.pending, again) {
		return
	}
	switch {
	case m.Kind == imagepull.KindPulling:
		l.logRequest(o.UID, name, pullRequest{at: reportedAt, error: bound, image: textHash(m.Image)})
		return
	case m.Kind == imagepull.KindPulled && m.Timed:
		logged.from = reportedAt.Add(-m.Pull)
		if m.WaitingTimed {
			logged.requestedAt = reportedAt.Add(-m.Waiting)
		}
	case m.Kind == imagepull.KindPullFailed:
		logged.failed, logged.startUnknown = true, true
		logged.requestedAt = l.requests[requester{o.UID, name}].at
		logged.from = logged.requestedAt
	}
	l.endRequest(o.UID, name, reportedAt.Add(bound))
	if logged.from.IsZero() || !logged.from.Before(reportedAt) ||
		pod.ReadAt.IsZero() && logged.from.Before(pod.AcknowledgedAt) {
		return
	}
	logged.image = normalizedName(m.Image)
	l.addUnlessRefuted(logged)
}

// ObserveClockSet drops the logged pulls if the clock was set back, because their times cannot be compared with
// the times of later pulls. If the clock was set forward, all earlier pulls are still before all later pulls.
func (l *PullLog) ObserveClockSet(set ClockSet) {
	if set.By < 0 {
		l.pulls, l.pending = nil, nil
	}
}

// addUnlessRefuted logs a pull, unless the runtime refutes the pull. If the runtime has not reported the pod's sandbox
// yet, the pull stays pending.
func (l *PullLog) addUnlessRefuted(p loggedPull) {
	switch {
	case l.isRefuted(p):
	case !l.sandboxKnown(p.uid, p.from.Add(p.error)):
		l.pending = append(makeRoom(l.pending), p)
	default:
		l.pulls = makeRoom(l.pulls)
		l.recordMode(&p)
		l.pulls = append(l.pulls, p)
	}
}

// pullsIfAbsent reports whether the kubelet pulls a container's image only if the image is absent.
func (p *Pod) pullsIfAbsent(container string) bool {
	return slices.ContainsFunc(p.Containers, func(c Container) bool {
		return c.Name == container && c.PullPolicy == PullIfNotPresent
	})
}

// mayPull reports whether an Event's message about a pull can concern a container of the pod. If the message names an
// image, the container's spec must name the same image.
func (p *Pod) mayPull(container string, m imagepull.Message) bool {
	if m.Image == "" {
		return p.has(container)
	}
	return m.Combined && p.usesImage(m.Image) || slices.ContainsFunc(p.Containers, func(c Container) bool {
		return c.Name == container && c.Image == m.Image
	})
}

// usesImage reports whether the spec of any container contains the image reference.
func (p *Pod) usesImage(image string) bool {
	return slices.ContainsFunc(p.Containers, func(c Container) bool { return c.Image == image })
}

// logRequest records when the kubelet requested a pull. The kubelet pulls a pod's images one after the other. So only
// the pod's latest request can still be open. If the log is full, logRequest drops the oldest ended request. If no
// request has ended, logRequest drops the oldest open request.
func (l *PullLog) logRequest(uid, container string, latest pullRequest) {
	if l.requests == nil {
		l.requests = map[requester]pullRequest{}
	}
	of := requester{uid, container}
	response := func(p loggedPull) bool {
		return p.uid == uid && p.blocker.Container == container && !p.until.Before(latest.at)
	}
	latest.over = slices.ContainsFunc(l.pulls, response) || slices.ContainsFunc(l.pending, response)
	for other, request := range l.requests {
		if other.uid != uid || other == of {
			continue
		}
		if cmp.Or(request.at.Compare(latest.at), cmp.Compare(other.container, container)) < 0 {
			request.over = true
			l.requests[other] = request
		} else {
			latest.over = true
		}
	}
	l.requests[of] = latest
	if len(l.requests) <= maxPullLog {
		return
	}
	first := of
	for other, request := range l.requests {
		if known := l.requests[first]; request.over != known.over {
			if request.over {
				first = other
			}
		} else if cmp.Or(request.at.Compare(known.at), cmp.Compare(other.uid, first.uid),
			cmp.Compare(other.container, first.container)) < 0 {
			first = other
		}
	}
	delete(l.requests, first)
}

// isRequested reports whether the kubelet has an open request for the image that a message names. If the spec changed
// during the pull, the container's spec might no longer name this image.
func (l *PullLog) isRequested(uid, container string, m imagepull.Message) bool {
	request, known := l.requests[requester{uid, container}]
	return known && !request.over && m.Kind != imagepull.KindPulling && request.image == textHash(m.Image)
}

// endRequest records that a container's pull has ended. The argument "latest" is the latest possible end of the pull.
// The times of the request and of the end are inexact, so the request can seem to be later than the end of its pull.
// But a request later than "latest" belongs to the next attempt, because the kubelet waits for several seconds between
// two attempts.
func (l *PullLog) endRequest(uid, container string, latest time.Time) {
	of := requester{uid, container}
	if request, known := l.requests[of]; known && !request.at.After(latest) {
		request.over = true
		l.requests[of] = request
	}
}

// Settle records the results of a pod's final timeline. Settle marks the pod's requests as ended, and records which
// layers the pod downloaded itself. These layers count as shared in the pulls of all other pods.
func (l *PullLog) Settle(t Timeline) {
	for of, request := range l.requests {
		if of.uid == t.UID {
			request.over = true
			l.requests[of] = request
		}
	}
	for _, pulls := range [...][]Pull{t.Pulls, t.EphemeralPulls} {
		for _, p := range pulls {
			l.noteLayers(&p, t.UID)
			for i, layer := range p.Layers {
				if !p.shared(i) {
					l.layers.addOwner(layer, t.UID)
				}
			}
		}
	}
}

// Complete adds the evidence of other pods' pulls to the timeline t. Complete changes the pulls of t, so no other
// goroutine may use the pulls at the same time. Complete copies the phases before it changes them. A second call for
// the same timeline changes no phases.
func (l *PullLog) Complete(t *Timeline) {
	for _, pulls := range [...][]Pull{t.Pulls, t.EphemeralPulls} {
		for i := range pulls {
			l.complete(&pulls[i], t.UID)
			l.separateWaits(t, &pulls[i])
			l.widenEnd(t, &pulls[i])
		}
	}
}

func (l *PullLog) complete(p *Pull, uid string) {
	p.Shared = l.layers.sharedBy(p.Layers, uid)
	unreported := p.RequestedAt.IsZero() && p.absentAt != 0
	if unreported && p.Outcome == imagepull.OutcomeDownloaded && l.mayBeOfOther(p, uid) {
		p.Outcome = imagepull.OutcomeUnknown
	}
	if !p.hasAllTimes() {
		return
	}
	m := l.modeFor(p, uid)
	l.explainQueue(p, uid, m)
	p.Beside, p.early = l.highestConcurrency(p, uid, m), l.sharesEarlier(p, uid, m)
	if p.Resumed && l.joinsRunningPull(p, uid) {
		p.Resumed, p.early = false, true
	}
	var image string // the normalized image of p, computed on first use
	for i := range l.pulls {
		o := &l.pulls[i]
		if o.uid == uid {
			continue
		}
		// OutcomeDownloaded can change. If o.imageAbsent is true, OutcomeUnknown can change too. All other outcomes are
		// final.
		open := p.Outcome == imagepull.OutcomeDownloaded || p.Outcome == imagepull.OutcomeUnknown && o.imageAbsent
		if open && image == "" {
			image = normalizedName(p.Image)
		}
		if open && o.image == image && o.downloadedFor(p) {
			p.markSharedLayers(o)
			if p.sharesAll() {
				p.Outcome = imagepull.OutcomeJoined
			} else {
				// Some layers arrived after the other pull had ended. Either the image was removed between the two
				// pulls, or the other pull downloaded a different image.
				p.Outcome = imagepull.OutcomeDownloaded
			}
		}
	}
}

// hasAllTimes reports whether a pull took place and all its times are known and in order.
func (p *Pull) hasAllTimes() bool {
	return !p.RequestedAt.IsZero() && !p.StartedAt.Before(p.RequestedAt) && !p.FinishedAt.Before(p.StartedAt) &&
		p.Outcome != imagepull.OutcomePresent
}

// normalizedName returns the same name for all references to the same image. If a reference is invalid, normalizedName
// returns the reference unchanged.
func normalizedName(ref string) string {
	name, err := imagepull.Normalize(ref)
	if err != nil {
		return ref
	}
	return name
}

// downloadedFor reports whether the logged pull o downloaded the image for the pull p. The result is true if o
// succeeded, began before p, and ended after the image was last known to be absent.
func (o *loggedPull) downloadedFor(p *Pull) bool {
	absent := at(p.RequestedAt)
	if p.absentAt != 0 {
		absent = min(absent, p.absentAt)
	}
	return !o.failed && o.from.Before(p.StartedAt) && at(o.until) > absent
}
