package timeline

import (
	"slices"
	"time"
)

// maxImageAnswers is the number of images whose last answer is kept; a node has some hundred images.
const maxImageAnswers = 512

// maxSandboxes is the number of pods that are known to have a sandbox. The kubelet's default limit is 110 pods;
// others come and go.
const maxSandboxes = 1024

// imageAnswerOf is the runtime's last answer about an image.
type imageAnswerOf struct {
	askedAt     time.Time
	present     bool
	first, last time.Time // when its first and its latest pull ended; zero if the runtime does not say
}

// ObserveRuntime records the runtime's answers about images and drops the pulls that they refute. Anyone who may
// create Events can forge one, and other pods' pulls are judged by the log.
func (l *PullLog) ObserveRuntime(o RuntimeSeen) {
	for _, image := range o.Images {
		name := normalized(image.Ref)
		if known, ok := l.images[name]; ok && !o.AskedAt.After(known.askedAt) {
			continue
		}
		if l.images == nil {
			l.images = map[string]imageAnswerOf{}
		}
		l.images[name] = imageAnswerOf{o.AskedAt, image.Present, image.FirstPulledAt, image.PulledAt}
		forgetOldest(l.images, maxImageAnswers, name, func(a imageAnswerOf) time.Time { return a.askedAt })
	}
	if len(o.Images) > 0 && slices.ContainsFunc(l.pulls, l.refuted) {
		l.pulls = slices.DeleteFunc(l.pulls, l.refuted)
		l.compareAll()
	}
	l.noteSandboxes(o)
}

// sandboxSince holds what the runtime said about a pod's sandboxes. begunAt is the start of the earliest one, and
// askedAt when the runtime was asked last. If none is true, it has never had one.
type sandboxSince struct {
	begunAt, askedAt time.Time
	none             bool
}

// noteSandboxes records whether a pod has a sandbox. If it has, it adds the pod's pending pulls.
func (l *PullLog) noteSandboxes(o RuntimeSeen) {
	if l.sandboxes == nil { // earlier pulls were logged without this check
		l.sandboxes = map[string]sandboxSince{}
		l.pending, l.pulls = l.pulls, nil
		defer l.addPending()
	}
	since := sandboxSince{askedAt: o.AskedAt, none: true}
	for _, s := range o.Sandboxes {
		if at := s.since(); since.none || at.Before(since.begunAt) {
			since.begunAt, since.none = at, false
		}
	}
	if known, ok := l.sandboxes[o.UID]; ok && !known.none && (since.none || known.begunAt.Before(since.begunAt)) {
		since.begunAt, since.none = known.begunAt, false
	} else if ok && known.none && since.none && known.askedAt.After(since.askedAt) {
		since = known
	}
	l.sandboxes[o.UID] = since
	forgetOldest(l.sandboxes, maxSandboxes, o.UID, func(s sandboxSince) time.Time {
		if s.none {
			return time.Time{} // forgotten first: it can be asked again
		}
		return s.askedAt
	})
	if !since.none && slices.ContainsFunc(l.pending, func(p loggedPull) bool { return p.uid == o.UID }) {
		l.addPending()
	}
}

// addPending adds the pending pulls whose pod's sandbox the runtime has shown.
func (l *PullLog) addPending() {
	pending := l.pending
	l.pending = nil
	for _, p := range pending {
		p.overlappedUntil, p.dequeued = time.Time{}, false
		l.add(p)
	}
}

// since is the earliest time at which the runtime created it; zero if unknown.
func (s *Sandbox) since() time.Time {
	for _, at := range [...]time.Time{s.BegunAt, s.NetworkReadyAt, s.CreatedAt} {
		if !at.IsZero() {
			return at
		}
	}
	return time.Time{}
}

// sandboxKnown reports whether more than an Event shows that a pod may have pulled an image at an instant: its
// sandbox existed, which the kubelet requires before it pulls (kuberuntime_manager.go, SyncPod). Without a runtime
// it is always true.
func (l *PullLog) sandboxKnown(uid string, at time.Time) bool {
	if l.sandboxes == nil {
		return true
	}
	since, known := l.sandboxes[uid]
	return known && !since.none && !at.Before(since.begunAt)
}

// requestRefuted reports whether the runtime shows that a pod had no sandbox at the time at which, according to an
// Event, the kubelet requested a pull for it. Until the runtime is asked, the request is believed: it counts as one
// more pull in the queue, and no pull is named as the one that another pod waited for. Without it, the wrong pull may
// be named.
func (l *PullLog) requestRefuted(uid string, request pullRequest) bool {
	latest := request.at.Add(request.error)
	since, known := l.sandboxes[uid]
	return known && latest.Before(since.askedAt) && (since.none || latest.Before(since.begunAt))
}

// RequestsRuntime reports whether the log has a request of a pod that an answer of the runtime could refute.
func (l *PullLog) RequestsRuntime(uid string) bool {
	since, known := l.sandboxes[uid]
	if known && !since.none || l.sandboxes == nil {
		return false
	}
	for of, request := range l.requests {
		if podOf(of) == uid && !request.over && !l.requestRefuted(uid, request) {
			return true
		}
	}
	return false
}

// forgetOldest removes the oldest answers until at most most remain, but never the newest.
func forgetOldest[A any](answers map[string]A, most int, newest string, askedAt func(A) time.Time) {
	if len(answers) <= most {
		return
	}
	oldest := ""
	for name, answer := range answers {
		if name == newest {
			continue
		}
		if c := askedAt(answer).Compare(askedAt(answers[oldest])); oldest == "" || c < 0 || c == 0 && name < oldest {
			oldest = name
		}
	}
	delete(answers, oldest)
}

// refuted reports whether the runtime refutes a successful pull: the image's first timestamp is later, or its latest
// one is earlier, or the image is still absent.
func (l *PullLog) refuted(p loggedPull) bool {
	answer, known := l.images[p.image]
	if !known || p.failed {
		return false
	}
	if !answer.present {
		return answer.askedAt.After(p.until.Add(p.error))
	}
	if !answer.first.IsZero() && answer.first.After(p.until.Add(p.error)) {
		return true
	}
	asked := answer.askedAt.After(p.until.Add(p.error))
	return asked && !answer.last.IsZero() && answer.last.Before(p.from.Add(-p.error))
}

// compareAll compares all pairs of pulls again after some pulls were dropped.
func (l *PullLog) compareAll() {
	all := l.pulls
	for i := range all {
		all[i].overlappedUntil, all[i].dequeued = time.Time{}, false
	}
	for i := range all {
		l.pulls = all[:i]
		l.compare(&all[i])
	}
	l.pulls = all
}

// makeRoom drops the oldest pull of the namespace that has the most pulls if the log is full. So no namespace
// displaces the pulls of all others.
func makeRoom(pulls []loggedPull) []loggedPull {
	if len(pulls) < maxPullLog {
		return pulls
	}
	counts := map[string]int{}
	most := pulls[0].blocker.Namespace
	for i := range pulls {
		counts[pulls[i].blocker.Namespace]++
	}
	for i := range pulls { // the first of several, in the order of the log
		if namespace := pulls[i].blocker.Namespace; counts[namespace] > counts[most] {
			most = namespace
		}
	}
	oldest := slices.IndexFunc(pulls, func(p loggedPull) bool { return p.blocker.Namespace == most })
	return slices.Delete(pulls, oldest, oldest+1)
}
