package timeline

import (
	"slices"
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

const (
	// maxPullLog is how many pulls are remembered; a queue is seldom longer.
	maxPullLog = 256
	// leastBlocked is the wait that is worth a name: less is how long kubelet takes to hand a pull on.
	leastBlocked = 50 * time.Millisecond
)

// PullLog remembers the node's latest pulls, as kubelet's Events told of them, to complete what one pod's evidence cannot
// tell of its own: which pull it waited for, and whether another one had brought the image. Not safe for concurrent use.
type PullLog struct {
	pulls    []loggedPull         // the oldest first
	requests map[string]time.Time // when kubelet asked last, by pod and container
	layers   recentLayers
}

// loggedPull is one pull that is over.
type loggedPull struct {
	told        telling
	image       string // as all references to it are normalized
	uid         string
	failed      bool
	fetched     bool // kubelet had found the image absent
	blocker     Blocker
	from, until time.Time // the runtime was asked, and answered
}

// telling is one of the times that kubelet made an Event: the same whenever, and however late, the agent hears of it.
type telling struct {
	uid, container, reason, image string
	namedAt                       time.Time // the first time that it made it; to the second where the name does not tell
	count                         int
}

func tellingOf(o EventSeen, container, image string) telling {
	named := o.NamedAt
	if named.IsZero() {
		named = o.FirstAt
	}
	return telling{o.UID, container, o.Reason, image, named, o.Count}
}

// Observe notes the pull that an Event about a pod tells of; most tell of none.
func (l *PullLog) Observe(o EventSeen, pod Pod) {
	m := imagepull.ParseMessage(o.Reason, o.Message)
	told := o.NamedAt
	if m.Combined || told.IsZero() || o.Count > 1 {
		told = o.LastAt
		if o.Live && o.ArrivedAt.After(told) && o.ArrivedAt.Before(told.Add(time.Second)) {
			told = o.ArrivedAt
		}
	}
	name := o.Container
	if m.Combined || name == "" {
		name = ImageName(m.Image)
	}
	if !pod.has(name) && !(m.Combined && pod.uses(m.Image)) {
		return // whoever may create Events can make up any
	}
	logged := loggedPull{
		told: tellingOf(o, name, m.Image), uid: o.UID, fetched: pod.pullsIfAbsent(name),
		blocker: Blocker{pod.Namespace, pod.Name, name, m.Image, 0}, until: told,
	}
	if slices.ContainsFunc(l.pulls, func(known loggedPull) bool { return known.told == logged.told }) {
		return // the same Event again
	}
	switch {
	case m.Kind == imagepull.KindPulling:
		l.request(o.UID+"/"+name, told)
		return
	case m.Kind == imagepull.KindPulled && m.Timed:
		logged.from = told.Add(-m.Pull)
	case m.Kind == imagepull.KindPullFailed:
		logged.failed, logged.from = true, l.begun(o.UID+"/"+name, told)
	}
	if logged.from.IsZero() || !logged.from.Before(told) {
		return
	}
	if len(l.pulls) == maxPullLog {
		l.pulls = append(l.pulls[:0], l.pulls[1:]...)
	}
	logged.image = normalized(m.Image)
	l.pulls = append(l.pulls, logged)
}

// pullsIfAbsent says that kubelet pulls a container's image only if it is absent.
func (p *Pod) pullsIfAbsent(container string) bool {
	return slices.ContainsFunc(p.Containers, func(c Container) bool {
		return c.Name == container && c.PullPolicy == PullIfNotPresent
	})
}

// uses says that a container has the image, as its spec names it.
func (p *Pod) uses(image string) bool {
	return slices.ContainsFunc(p.Containers, func(c Container) bool { return c.Image == image })
}

// request notes when kubelet wanted a pull; of as many as there are pulls remembered, the latest.
func (l *PullLog) request(of string, at time.Time) {
	if l.requests == nil {
		l.requests = map[string]time.Time{}
	}
	l.requests[of] = at
	if len(l.requests) <= maxPullLog {
		return
	}
	oldest := of
	for other, asked := range l.requests {
		if c := asked.Compare(l.requests[oldest]); c < 0 || c == 0 && other < oldest {
			oldest = other
		}
	}
	delete(l.requests, oldest)
}

// begun is when a pull that failed began at the earliest, of which kubelet tells no length: when it was wanted, or when the
// last one before it was over, as kubelet pulls one after the other. Zero when nobody told that it was wanted.
func (l *PullLog) begun(of string, failedAt time.Time) time.Time {
	from := l.requests[of]
	if from.IsZero() {
		return from
	}
	for _, o := range l.pulls {
		if o.until.After(from) && o.until.Before(failedAt) {
			from = o.until
		}
	}
	return from
}

// Settle takes a timeline that was completed for the last time: from now on its layers count as its own.
func (l *PullLog) Settle(t Timeline) {
	for _, pulls := range [...][]Pull{t.Pulls, t.Debug} {
		for _, p := range pulls {
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
	var image string // of p, once it is needed
	for i := range l.pulls {
		o := &l.pulls[i]
		if o.uid == uid {
			continue
		}
		if waited := o.during(p.RequestedAt, p.StartedAt); p.QueueTimed && waited >= leastBlocked && (p.BlockedBy == nil || waited > p.BlockedBy.Waited) {
			b := o.blocker
			b.Waited = waited
			p.BlockedBy = &b
		}
		// What this pod's evidence alone leaves open, a pull that began with the image absent decides.
		open := p.Outcome == imagepull.OutcomeDownloaded || p.Outcome == imagepull.OutcomeUnknown && o.fetched
		if open && image == "" {
			image = normalized(p.Image)
		}
		if open && o.image == image && o.brought(p) {
			p.share(o)
			if p.sharesAll() {
				p.Outcome = imagepull.OutcomeJoined
			} else {
				p.Outcome = imagepull.OutcomeDownloaded // what is left came when the other one was over: it had been removed, or was another one
			}
		}
	}
}

// share counts the layers that came while another pull of the same image went on with that one.
func (p *Pull) share(o *loggedPull) {
	for i, layer := range p.Layers {
		if layer.DownloadedAt.After(o.until) {
			continue
		}
		if p.Shared == nil {
			p.Shared = make([]bool, len(p.Layers))
		}
		p.Shared[i] = true
	}
}

// sharesAll says that no layer came with this pull alone, as far as anybody tells of layers.
func (p *Pull) sharesAll() bool {
	for i := range p.Layers {
		if !p.shared(i) {
			return false
		}
	}
	return true
}

// dated says that all instants of a pull are known, in their order.
func (p *Pull) dated() bool {
	return !p.RequestedAt.IsZero() && !p.StartedAt.Before(p.RequestedAt) && !p.FinishedAt.Before(p.StartedAt) && p.Outcome != imagepull.OutcomePresent
}

// during is how much of a stretch of time the pull took.
func (o *loggedPull) during(from, until time.Time) time.Duration {
	if o.from.After(from) {
		from = o.from
	}
	if o.until.Before(until) {
		until = o.until
	}
	return until.Sub(from)
}

// normalized is by what two references to one image are the same; what is no reference is the same as itself alone.
func normalized(ref string) string {
	name, err := imagepull.Normalize(ref)
	if err != nil {
		return ref
	}
	return name
}

// brought says that the pull brought the image, if it is the one that p asked for: it had begun before, and ended when the
// image was last known to be absent, when p was in the queue, or while p found its content.
func (o *loggedPull) brought(p *Pull) bool {
	absent := at(p.RequestedAt)
	if p.absentAt != 0 {
		absent = min(absent, p.absentAt)
	}
	return !o.failed && o.from.Before(p.StartedAt) && at(o.until) > absent
}
