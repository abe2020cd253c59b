package podwatch

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// reading is one opening of a watch, from the API server's answer to its end; of the goroutine that follows.
type reading struct {
	events   *Events
	f        *follower
	observe  func(timeline.Observation)
	openedAt time.Time
	members  []*member
	memory   *memory // of a shared watch; else nil
	proof    *proof
	proven   bool // it has told all there was

	// named and renamed say that a pod of this node had an Event from this node's name, and from another host.
	named, renamed bool
}

// member is a pod that an open watch serves.
type member struct {
	pod *want
	// since is from when on nothing about the pod is missing of what this watch told, and another before;
	// zero when something is.
	since   time.Time
	vouched bool
}

// begin takes in the pods that are there: the watch begins with all that the API server holds of them.
func (e *Events) begin(ctx context.Context, f *follower) *reading {
	r := &reading{
		events: e, f: f, openedAt: e.opened(f), proof: newProof(),
		observe: func(o timeline.Observation) { e.config.Observe(ctx, o) },
	}
	if f.alone == nil {
		r.memory = newMemory(e.remember)
	}
	for _, s := range e.standings(f) {
		r.members = append(r.members, &member{pod: s.pod, since: r.openedAt})
	}
	return r
}

// end takes back what the watch vouched for.
func (r *reading) end(ctx context.Context) {
	r.events.closed(r.f)
	for _, m := range r.members {
		if m.vouched {
			m.pod.retract(ctx, r.f, timeline.EventsLost{ArrivedAt: r.events.config.Now()}, r.observe)
		}
	}
}

// meet takes in how the pods of a shared watch stand now. One that is new is told what the watch has seen
// of it.
func (r *reading) meet() {
	known := make(map[*want]*member, len(r.members))
	for _, m := range r.members {
		known[m.pod] = m
	}
	standings := r.events.standings(r.f)
	members := make([]*member, 0, len(standings))
	for _, s := range standings {
		m := known[s.pod]
		if m == nil {
			m = &member{pod: s.pod}
			for _, past := range r.memory.of(s.pod.watch) {
				s.pod.tell(past.key, past.seen, true, r.observe)
			}
			if !r.memory.forgot(s.pod.watch) && r.knowsKubelet() {
				m.since = r.openedAt
			}
		}
		if m.since.IsZero() {
			// What this watch forgot, the pod's own has told, and what came since comes through both.
			m.since = s.toldSince
		}
		members = append(members, m)
	}
	r.members = members
}

// settle is for a watch that has told all there was: it vouches for the pods of which nothing is missing,
// and has the others get a watch of their own.
func (r *reading) settle() {
	for _, m := range r.members {
		if m.since.IsZero() {
			r.events.notEnough(m.pod)
			continue
		}
		if m.vouched {
			continue
		}
		m.vouched = true
		m.pod.vouch(r.f, timeline.EventsWatched{ArrivedAt: r.events.config.Now(), OpenedAt: m.since}, r.observe)
		if r.f.alone == nil {
			r.events.enough(m.pod)
		}
	}
}

// hand hands over observations, which may take long; meanwhile more of what there was may be on its way.
func (r *reading) hand(over func()) {
	began := time.Now()
	over()
	if !r.proven {
		r.proof.postpone(time.Since(began))
	}
}

// knowsKubelet says that the memory, which holds Events with this node's name, can be complete. A kubelet that goes by
// another name shows in the Events of wanted pods. A forged host alone drops nothing: what is remembered stays, and
// the kubelet's next Event about any wanted pod settles the question.
func (r *reading) knowsKubelet() bool { return r.named || !r.renamed }

// take observes an Event, and remembers it in a shared watch if it is of this node. DELETED means that the API
// server's time to live for Events is over, and a bookmark tells nothing. Whoever may create Events in a namespace
// chooses all that they say: one that is longer than any of kubelet's, or about a wanted pod's UID but not about that
// pod, is refused.
func (r *reading) take(event watch.Event) {
	object, ok := event.Object.(*corev1.Event)
	switch {
	case !ok:
		return
	case isTooLarge(event.Type, object):
		r.events.refuse(refusedOversized)
		return
	case event.Type != watch.Added && event.Type != watch.Modified:
		return
	}
	r.events.received()
	r.proof.see(object.ResourceVersion)
	if oversized(object) {
		r.events.refuse(refusedOversized)
		return
	}
	pod, ofPod := involvedIn(object)
	here := object.Source.Host == r.events.config.NodeName
	key, seen := keyOf(object), convertEvent(object, "", r.openedAt, r.events.config.Now())
	if here && event.Type == watch.Added {
		r.late(seen)
	}
	if r.memory != nil && here && ofPod {
		r.memory.add(pod, key, seen)
	}
	for _, m := range r.members {
		if m.pod.watch.InvolvedUID != pod.uid {
			continue
		}
		if !ofPod || involvedOf(m.pod.watch) != pod {
			r.events.refuse(refusedPod)
			continue
		}
		r.named, r.renamed = r.named || here, r.renamed || !here
		if !m.pod.tell(key, seen, here, r.observe) {
			r.events.refuse(refusedHost)
		}
	}
}

// late tells how late an Event came. One that is younger than the watch is no repetition of what was there.
func (r *reading) late(seen timeline.EventSeen) {
	if delay := r.events.config.Delay; delay != nil && seen.NamedAt.After(r.openedAt) {
		delay(max(0, seen.ArrivedAt.Sub(seen.NamedAt)))
	}
}
