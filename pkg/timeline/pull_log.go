package timeline

import (
	"slices"
	"strings"
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

const (
	// maxPullLog is how many pulls are remembered; a queue is seldom longer.
	maxPullLog = 256
	// leastBlocked is the wait that is worth a name: less is how long the kubelet takes to hand a pull on.
	leastBlocked = 50 * time.Millisecond
)

// PullLog remembers the node's latest pulls, as the kubelet's Events told of them, to complete what one pod's evidence cannot
// tell of its own: which pull it waited for, and whether another one had brought the image. Not safe for concurrent use.
type PullLog struct {
	pulls    []loggedPull           // the oldest first
	pending  []loggedPull           // the same of pods that may not be as far; see shown
	requests map[string]pullRequest // when the kubelet asked last, by pod and container
	layers   recentLayers
	images   map[string]imageAnswerOf // by normalized name
	// sandboxes are of the pods that the runtime has made one for, by UID; nil while the runtime has said nothing at all.
	sandboxes map[string]sandboxSince
}

// loggedPull is one pull that is over.
type loggedPull struct {
	event           eventID
	image           string // as all references to it are normalized
	uid             string
	failed          bool
	imageAbsent     bool // the kubelet had found the image absent
	blocker         Blocker
	requestedAt     time.Time // the kubelet asked for it; zero when not known
	from, until     time.Time // the runtime was asked, and answered
	startUnknown    bool      // from is only when it was asked for, as of every pull that failed
	error           time.Duration
	overlappedUntil time.Time // until then another pull ran at the same time, for certain; zero if none did
	dequeued        bool      // it waited long, and began as another one ended
	layers          []uint64  // the layerHash of each that it brought; nil while not known
}

// eventID is one of the times that the kubelet made an Event: the same whenever, and however late, the agent hears of it.
type eventID struct {
	uid, container, reason, image string
	namedAt                       time.Time // the first time that it made it; to the second where the name does not tell
	count                         int
}

func eventIDOf(o EventSeen, container, image string) eventID {
	named := o.NamedAt
	if named.IsZero() {
		named = o.FirstAt
	}
	return eventID{o.UID, container, o.Reason, image, named, o.Count}
}

// Observe notes the pull that an Event about a pod tells of; most tell of none.
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
	if o.ofFuture() || !pod.mayPull(name, m) {
		return // whoever may create Events can make up any
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
		l.request(o.UID, name, reportedAt)
		return
	case m.Kind == imagepull.KindPulled && m.Timed:
		logged.from = reportedAt.Add(-m.Pull)
		if m.WaitingTimed {
			logged.requestedAt = reportedAt.Add(-m.Waiting)
		}
	case m.Kind == imagepull.KindPullFailed:
		logged.failed, logged.startUnknown = true, true
		logged.requestedAt = l.requests[requestOf(o.UID, name)].at
		logged.from = logged.requestedAt
	}
	l.endRequest(o.UID, name, reportedAt.Add(bound))
	if logged.from.IsZero() || !logged.from.Before(reportedAt) || pod.ReadAt.IsZero() && logged.from.Before(pod.AcknowledgedAt) {
		return
	}
	logged.image = normalized(m.Image)
	l.add(logged)
}

// add notes a pull: for good, or until the runtime shows that its pod was as far.
func (l *PullLog) add(p loggedPull) {
	switch {
	case l.refuted(p):
	case !l.sandboxKnown(p.uid, p.from.Add(p.error)):
		l.pending = append(makeRoom(l.pending), p)
	default:
		l.pulls = makeRoom(l.pulls)
		l.compare(&p)
		l.pulls = append(l.pulls, p)
	}
}

// pullsIfAbsent says that the kubelet pulls a container's image only if it is absent.
func (p *Pod) pullsIfAbsent(container string) bool {
	return slices.ContainsFunc(p.Containers, func(c Container) bool {
		return c.Name == container && c.PullPolicy == PullIfNotPresent
	})
}

// mayPull says that the kubelet may say so of a container: it has the image.
func (p *Pod) mayPull(container string, m imagepull.Message) bool {
	if m.Image == "" {
		return p.has(container)
	}
	return m.Combined && p.uses(m.Image) || slices.ContainsFunc(p.Containers, func(c Container) bool {
		return c.Name == container && c.Image == m.Image
	})
}

// uses says that a container has the image, as its spec names it.
func (p *Pod) uses(image string) bool {
	return slices.ContainsFunc(p.Containers, func(c Container) bool { return c.Image == image })
}

// requestOf names a container of a pod; podOf is the pod's UID in it.
func requestOf(uid, container string) string { return uid + "/" + container }

func podOf(request string) string {
	uid, _, _ := strings.Cut(request, "/")
	return uid
}

// request notes when the kubelet wanted a pull; of as many as there are pulls remembered, the latest. A pod gets one
// image after the other, so that what it wanted before is over.
func (l *PullLog) request(uid, container string, at time.Time) {
	if l.requests == nil {
		l.requests = map[string]pullRequest{}
	}
	of := requestOf(uid, container)
	for other, request := range l.requests {
		if podOf(other) == uid && request.at.Before(at) {
			request.over = true
			l.requests[other] = request
		}
	}
	over := slices.ContainsFunc(l.pulls, func(p loggedPull) bool {
		return p.uid == uid && p.blocker.Container == container && !p.until.Before(at)
	})
	l.requests[of] = pullRequest{at, over}
	if len(l.requests) <= maxPullLog {
		return
	}
	oldest := of
	for other, request := range l.requests {
		if c := request.at.Compare(l.requests[oldest].at); c < 0 || c == 0 && other < oldest {
			oldest = other
		}
	}
	delete(l.requests, oldest)
}

// endRequest notes that the pull that a container's request was about is over. The request may be dated later than the answer, by
// the errors of both: the next one comes after a back-off of seconds.
func (l *PullLog) endRequest(uid, container string, latest time.Time) {
	of := requestOf(uid, container)
	if request, known := l.requests[of]; known && !request.at.After(latest) {
		request.over = true
		l.requests[of] = request
	}
}

// Settle takes a timeline that was completed for the last time: from now on its layers count as its own.
func (l *PullLog) Settle(t Timeline) {
	for of, request := range l.requests {
		if podOf(of) == t.UID {
			request.over = true
			l.requests[of] = request
		}
	}
	for _, pulls := range [...][]Pull{t.Pulls, t.Debug} {
		for _, p := range pulls {
			l.noteLayers(&p, t.UID)
			for i, layer := range p.Layers {
				if !p.shared(i) {
					l.layers.add(layer, t.UID)
				}
			}
		}
	}
}

// Complete adds to the pulls of a timeline what those of other pods tell. The pulls must be the caller's own.
func (l *PullLog) Complete(t *Timeline) {
	for _, pulls := range [...][]Pull{t.Pulls, t.Debug} {
		for i := range pulls {
			l.complete(&pulls[i], t.UID)
		}
	}
}

func (l *PullLog) complete(p *Pull, uid string) {
	p.Shared = l.layers.sharedBy(p.Layers, uid)
	if !p.dated() {
		return
	}
	m := l.mode(p, uid)
	l.explainQueue(p, uid, m)
	p.Beside, p.early = l.concurrent(p, uid, m), l.sharesEarlier(p, uid, m)
	if p.Resumed && l.joins(p, uid) {
		p.Resumed, p.early = false, true
	}
	var image string // of p, once it is needed
	for i := range l.pulls {
		o := &l.pulls[i]
		if o.uid == uid {
			continue
		}
		// What this pod's evidence alone leaves open, a pull that began with the image absent decides.
		open := p.Outcome == imagepull.OutcomeDownloaded || p.Outcome == imagepull.OutcomeUnknown && o.imageAbsent
		if open && image == "" {
			image = normalized(p.Image)
		}
		if open && o.image == image && o.provided(p) {
			p.share(o)
			if p.sharesAll() {
				p.Outcome = imagepull.OutcomeJoined
			} else {
				p.Outcome = imagepull.OutcomeDownloaded // what is left came when the other one was over: it had been removed, or was another one
			}
		}
	}
}

// dated says that all instants of a pull are known, in their order.
func (p *Pull) dated() bool {
	return !p.RequestedAt.IsZero() && !p.StartedAt.Before(p.RequestedAt) && !p.FinishedAt.Before(p.StartedAt) && p.Outcome != imagepull.OutcomePresent
}

// normalized is by what two references to one image are the same; what is no reference is the same as itself alone.
func normalized(ref string) string {
	name, err := imagepull.Normalize(ref)
	if err != nil {
		return ref
	}
	return name
}

// provided says that the pull brought the image, if it is the one that p asked for: it had begun before, and ended when the
// image was last known to be absent, when p was in the queue, or while p found its content.
func (o *loggedPull) provided(p *Pull) bool {
	absent := at(p.RequestedAt)
	if p.absentAt != 0 {
		absent = min(absent, p.absentAt)
	}
	return !o.failed && o.from.Before(p.StartedAt) && at(o.until) > absent
}
