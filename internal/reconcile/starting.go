package reconcile

import (
	"context"
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// lingering is how long after its start-up a pod still counts as starting: other data about that
// moment may be older.
const lingering = 5 * time.Second

// Starting returns the starting pods, and those whose start-up ended a moment ago. Callers share
// the answer and must not change it.
func (r *Reconciler) Starting(ctx context.Context) ([]timeline.Timeline, error) {
	return ask(ctx, r, "pods that start", r.startingTimelines)
}

// cachedStarting is the latest answer of Starting. The collectors of one scrape call one after the other, and
// on a node that is filling up each answer takes milliseconds. It is dropped at each observation
// and each tick.
type cachedStarting struct {
	starting []timeline.Timeline // nil if there is none
	at       time.Time
}

// cacheFor is how old an answer may be. The length of open phases in it is as of its creation.
const cacheFor = 50 * time.Millisecond

func (r *Reconciler) startingTimelines() []timeline.Timeline {
	now := r.config.Now()
	if age := now.Sub(r.cachedStarting.at); r.cachedStarting.starting == nil || age < 0 || age > cacheFor {
		all := r.timelinesOf(func(p *pod) bool { return p.startedLately(now) })
		r.cachedStarting = cachedStarting{all, now}
	}
	return r.cachedStarting.starting
}

func (p *pod) startedLately(now time.Time) bool {
	return p.evidence != nil || now.Sub(p.settled.SettledAt) < lingering
}
