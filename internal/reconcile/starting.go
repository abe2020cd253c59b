package reconcile

import (
	"context"
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// lingering is how long after its start-up a pod is still told of among those that start: what else is known of that
// moment may be older.
const lingering = 5 * time.Second

// Starting tells of the pods that start, and of those whose start-up ended a moment ago. Callers
// share the answer: they must not change it.
func (r *Reconciler) Starting(ctx context.Context) ([]timeline.Timeline, error) {
	return ask(ctx, r, "pods that start", r.startingTimelines)
}

// told is the latest answer of Starting. The collectors of one scrape ask one after the other, and
// of a node that comes up full each answer is milliseconds of work. It is forgotten when something
// is observed, and at each tick.
type told struct {
	starting []timeline.Timeline // nil when there is none
	at       time.Time
}

// toldFor is how old an answer may be: what is open in it has the age of when it was made.
const toldFor = 50 * time.Millisecond

func (r *Reconciler) startingTimelines() []timeline.Timeline {
	now := r.config.Now()
	if age := now.Sub(r.told.at); r.told.starting == nil || age < 0 || age > toldFor {
		all := r.tell(func(p *pod) bool { return p.startedLately(now) })
		r.told = told{all, now}
	}
	return r.told.starting
}

func (p *pod) startedLately(now time.Time) bool {
	return p.evidence != nil || now.Sub(p.settled.SettledAt) < lingering
}
