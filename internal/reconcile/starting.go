package reconcile

import (
	"context"
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// lingerTime is how long a pod still counts as starting after its start-up has ended. Callers combine the result of
// Starting with slightly older data, for example with downloads that have just ended. So Starting also returns pods
// whose start-up has just ended.
const lingerTime = 5 * time.Second

// Starting returns the pods that are starting, and the pods whose start-up ended at most lingerTime ago. Callers share
// the result and must not change it.
func (r *Reconciler) Starting(ctx context.Context) ([]timeline.Timeline, error) {
	return runQuery(ctx, r, "starting pods", r.startingTimelines)
}

// cachedStarting is the latest result of Starting. The cache is necessary because the collectors of one scrape request
// the result several times. On a node with many starting pods, each computation takes milliseconds. Each observation
// and each tick clears the cache.
type cachedStarting struct {
	starting []timeline.Timeline // nil if there is no cached result
	at       time.Time
}

// cacheFor is the maximum age of a cached result. While a result is cached, the durations of phases in progress do not
// grow.
const cacheFor = 50 * time.Millisecond

func (r *Reconciler) startingTimelines() []timeline.Timeline {
	now := r.config.Now()
	if age := now.Sub(r.cachedStarting.at); r.cachedStarting.starting == nil || age < 0 || age > cacheFor {
		all := r.timelinesOf(func(p *pod) bool { return p.startedLately(now) })
		r.cachedStarting = cachedStarting{all, now}
	}
	return r.cachedStarting.starting
}

// startedLately reports whether a pod is starting, or whether its start-up ended at most lingerTime ago. For a
// reconstructed start-up, startedLately does not wait for missing evidence. startedLately returns false if the
// kubelet's timestamps prove that the start-up ended more than lingerTime ago. If startedLately waited for the missing
// evidence, a scrape soon after the agent's start would compute the timelines of all pods on the node.
func (p *pod) startedLately(now time.Time) bool {
	if p.evidence == nil {
		return now.Sub(p.settled.endedAt) < lingerTime
	}
	return !p.evidence.Reconstructed() || !p.evidence.EndedBefore(now.Add(-lingerTime))
}
