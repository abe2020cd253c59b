package timeline

import (
	"slices"
	"time"
)

// maxImageAnswers is of how many images the log remembers what the runtime said; a node has some hundred.
const maxImageAnswers = 512

// imageAnswerOf is what the runtime said last of an image.
type imageAnswerOf struct {
	askedAt     time.Time
	present     bool
	first, last time.Time // when its first and its latest pull ended; zero where the runtime does not say
}

// ObserveRuntime notes what the runtime says of images, and drops the pulls that it refutes: an Event is a hint, which
// whoever may create Events can forge, and other pods' pulls are judged by it.
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
		l.boundImages(name)
	}
	if len(o.Images) == 0 || !slices.ContainsFunc(l.pulls, l.refuted) {
		return
	}
	l.pulls = slices.DeleteFunc(l.pulls, l.refuted)
	l.compareAll()
}

func (l *PullLog) boundImages(newest string) {
	if len(l.images) <= maxImageAnswers {
		return
	}
	oldest := newest
	for name, answer := range l.images {
		if answer.askedAt.Before(l.images[oldest].askedAt) {
			oldest = name
		}
	}
	delete(l.images, oldest)
}

// refuted says that the runtime refutes a pull: of one that succeeded, the image's first stamp is of a later time, or its
// latest one of an earlier time, or the image is still absent.
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

// compareAll compares the pulls anew, two and two, when some of them have been dropped.
func (l *PullLog) compareAll() {
	all := l.pulls
	for i := range all {
		all[i].parallel, all[i].handed = time.Time{}, false
	}
	for i := range all {
		l.pulls = all[:i]
		l.compare(&all[i])
	}
	l.pulls = all
}

// makeRoom drops the oldest pull of the namespace that has the most: nobody's pulls displace those of all others.
func (l *PullLog) makeRoom() {
	if len(l.pulls) < maxPullLog {
		return
	}
	counts := map[string]int{}
	most := l.pulls[0].blocker.Namespace
	for i := range l.pulls {
		counts[l.pulls[i].blocker.Namespace]++
	}
	for i := range l.pulls { // the first of several, in the order of the log
		if namespace := l.pulls[i].blocker.Namespace; counts[namespace] > counts[most] {
			most = namespace
		}
	}
	oldest := slices.IndexFunc(l.pulls, func(p loggedPull) bool { return p.blocker.Namespace == most })
	l.pulls = slices.Delete(l.pulls, oldest, oldest+1)
}
