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
			for _, past := range r.memory.of(s.pod.watch.InvolvedUID) {
				s.pod.tell(past.name, past.version, past.seen, r.observe)
			}
			if !r.memory.forgot(s.pod.watch.InvolvedUID) {
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

// take observes an Event, and remembers it in a shared watch if it is of this node. DELETED means that the API
// server's time to live for Events is over, and a bookmark tells nothing.
func (r *reading) take(event watch.Event) {
	object, ok := event.Object.(*corev1.Event)
	if !ok || event.Type != watch.Added && event.Type != watch.Modified {
		return
	}
	r.events.received()
	uid := string(object.InvolvedObject.UID)
	here := object.Source.Host == r.events.config.NodeName
	if here && event.Type == watch.Added {
		r.late(object)
	}
	if r.memory != nil && here && object.InvolvedObject.Kind == "Pod" {
		r.memory.add(uid, object.Name, object.ResourceVersion, r.convert(object))
	}
	for _, m := range r.members {
		if m.pod.watch.InvolvedUID != uid {
			continue
		}
		m.pod.tell(object.Name, object.ResourceVersion, r.convert(object), r.observe)
		if r.memory != nil && !here {
			r.memory.forgetAll() // this node's kubelet goes by another name, so it has remembered nothing
		}
	}
	r.proof.see(object.ResourceVersion)
}

// late tells how late an Event came. One that is younger than the watch is no repetition of what was there.
func (r *reading) late(object *corev1.Event) {
	if r.events.config.Delay == nil {
		return
	}
	if seen := r.convert(object); seen.NamedAt.After(r.openedAt) {
		r.events.config.Delay(max(0, seen.ArrivedAt.Sub(seen.NamedAt)))
	}
}

func (r *reading) convert(object *corev1.Event) timeline.EventSeen {
	return convertEvent(object, "", r.openedAt, r.events.config.Now())
}
