package eventwatch

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/podlapse/podlapse/internal/backoff"
)

// These constants define when a namespace is costly. The API server has no watch cache for Events. For each open Event
// watch, the API server decodes every change of an Event in the watch's namespace, even if the watch does not deliver
// the change. If pods of one namespace start on many nodes, each node adds both Events and an Event watch. So the cost
// of the Event watches grows with the square of the number of nodes. While a namespace is costly, the agent opens no
// Event watches on it.
const (
	// A namespace is costly only if at least costlyRate Events are created or deleted in it per second. To decode
	// costlyRate Events for one watch, the API server and etcd together need about 3 ms of CPU time.
	costlyRate = 50
	// A namespace is costly only if more than maxPerUsed Events are created or deleted in it for each Event that the
	// agent uses.
	maxPerUsed = 50
	// costPeriod is the time between two checks of a namespace in which many Events might be created. A namespace is
	// costly only if it seems costly in costlyPeriods consecutive periods. So a short burst of start-ups on other nodes
	// does not make a namespace costly.
	costPeriod    = 10 * time.Second
	costlyPeriods = 2
	// After a period in which the namespace cannot have been costly, the time until the next check doubles, up to
	// maxCostPeriod.
	maxCostPeriod = time.Minute
	// A namespace counts as costly for a random time between costlyFor and 1.5 times costlyFor. Without the random
	// part, the agents of all nodes would open new watches at the same time.
	costlyFor = 10 * time.Minute
	// eventTTL is the time after which the API server deletes an Event by default (kube-apiserver: --event-ttl).
	eventTTL = time.Hour
	// countPause is how long checkCosts pauses after a request for the number of Events of a namespace, and after a
	// failed request. The client limits the rate of its lists. Without the pause, the lists of checkCosts could delay
	// the list that samples the current revision for a new pod (see type revisions).
	countPause = time.Second
)

// namespaceCost describes what the watches on a namespace cost the API server. The lock of Source guards it.
type namespaceCost struct {
	due    time.Time     // time of the next check
	period time.Duration // time from the previous check to the next check
	began  position      // the period begins here; revision 0 if no revision is known
	number int64         // Events in the namespace at the position "began"; -1 if not known
	known  int64         // latest known number of Events in the namespace; -1 if none is known
	used   int           // Events about requested pods that watches delivered in the period
	costly int           // consecutive periods in which the namespace seemed costly
	open   bool          // a watch on the namespace was open in the period
}

// followCost adds a namespace to the namespaces that checkCosts checks, because a watch on the namespace has just
// opened. The caller must hold the lock.
func (s *Source) followCost(namespace string) {
	if c := s.costs[namespace]; c != nil {
		c.open = true
		return
	}
	if s.config.Cluster || len(s.costs) >= maxNamespaces {
		return
	}
	now := s.config.Now()
	began, _ := s.revisions.latest(now, maxBefore)
	s.costs[namespace] = &namespaceCost{
		due: now.Add(costPeriod), period: costPeriod, began: began, number: -1, known: -1, open: true,
	}
	signal(s.costsChanged)
}

// countUsed counts an Event that the agent used. countUsed takes the lock.
func (s *Source) countUsed(namespace string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.costs[namespace]; c != nil {
		c.used++
	}
}

// checkCosts checks the namespaces with open watches until ctx is done. Without open watches, checkCosts only waits.
// All requests come from this goroutine, one after the other. So even the requests for many namespaces hardly delay the
// requests that sample the current revision for new pods (see type revisions).
func (s *Source) checkCosts(ctx context.Context) {
	for {
		var timer <-chan time.Time
		namespace, wait := s.nextCheck()
		if namespace != "" {
			timer = time.After(wait)
		}
		select {
		case <-timer:
		case <-s.costsChanged:
			continue
		case <-ctx.Done():
			return
		}
		if s.checkCost(ctx, namespace) && !backoff.Sleep(ctx, countPause) {
			return
		}
	}
}

// nextCheck returns the namespace whose check is due next, and the time until then. If checkCosts follows no namespace,
// the name is empty.
func (s *Source) nextCheck() (namespace string, wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var due time.Time
	for name, c := range s.costs {
		if due.IsZero() || c.due.Before(due) {
			namespace, due = name, c.due
		}
	}
	return namespace, due.Sub(s.config.Now())
}

// checkCost checks a namespace and begins the next period. If no watch on the namespace was open in the period,
// checkCost forgets the namespace. If a request to the API server fails, checkCost does not begin the next period. If
// checkCost listed an Event or if a request failed, it returns true, and the caller must pause before the next check.
func (s *Source) checkCost(ctx context.Context, namespace string) (pause bool) {
	began, used, ok := s.beginCheck(namespace)
	if !ok {
		return false
	}
	latest, err := s.recentPosition(ctx)
	if err != nil {
		s.postponeCheck(namespace, err)
		return true
	}
	most := changesBetween(began, latest) // at most this number of Events was created
	least := s.costlyRate * latest.since.Sub(began.since).Seconds()
	if began.revision == 0 || most < least || most <= float64(maxPerUsed*used) {
		s.endPeriod(namespace, latest, -1)
		return false
	}
	if s.sizing.Acquire(ctx, 1) != nil {
		return false
	}
	at, number, err := s.listOneEvent(ctx, namespace)
	s.sizing.Release(1)
	switch {
	case errors.Is(err, errSlowList):
		s.endSlowPeriod(namespace, latest)
		return true
	case err != nil:
		s.postponeCheck(namespace, err)
		return true
	}
	s.checked = at
	s.endPeriod(namespace, at, number)
	return true
}

// beginCheck returns the position at which the current period of a namespace began, and the number of used Events. If
// no watch on the namespace was open in the period, beginCheck forgets the namespace and returns false.
func (s *Source) beginCheck(namespace string) (began position, used int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.costs[namespace]
	if !c.open || c.number < 0 && !s.hasOpenWatch(namespace) {
		delete(s.costs, namespace)
		return position{}, 0, false
	}
	return c.began, c.used, true
}

// postponeCheck postpones the check of a namespace after a failed request. If the API server refuses lists,
// postponeCheck postpones the check for a longer time than after other errors.
func (s *Source) postponeCheck(namespace string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	wait := costPeriod
	if apierrors.IsForbidden(err) {
		wait = maxCostPeriod
	}
	s.costs[namespace].due = s.config.Now().Add(wait)
}

// hasOpenWatch reports whether a watch on the namespace is open. The caller must hold the lock.
func (s *Source) hasOpenWatch(namespace string) bool {
	for w := range s.times.open {
		if w.namespace == namespace {
			return true
		}
	}
	return false
}

// recentPosition returns a revision that is at most sampleInterval old. If the agent knows no such revision,
// recentPosition requests the current revision from the API server.
func (s *Source) recentPosition(ctx context.Context) (position, error) {
	s.mu.Lock()
	latest, ok := s.revisions.latest(s.config.Now(), sampleInterval)
	s.mu.Unlock()
	if ok {
		return latest, nil
	}
	if s.config.Now().Sub(s.checked.since).Abs() <= sampleInterval {
		return s.checked, nil
	}
	at, err := s.takeSample(ctx, sampleNamespace)
	if err == nil {
		s.checked = at
	}
	return at, err
}

// changesBetween returns the number of revisions between two positions. Each creation of an Event has its own revision,
// but etcd can delete many expired Events in one revision.
func changesBetween(began, ended position) float64 {
	return float64(ended.revision) - float64(began.revision)
}

// endPeriod decides whether the namespace seemed costly in the period that ends now, and begins the next period. The
// parameter "number" is -1 if the number of Events is not known. If "number" is -1, the namespace did not seem costly.
// endPeriod takes the lock.
func (s *Source) endPeriod(namespace string, ended position, number int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.costs[namespace]
	last := *c
	*c = namespaceCost{began: ended, number: number, known: number, period: costPeriod,
		open: s.hasOpenWatch(namespace)}
	if number < 0 {
		c.known = last.known
	}
	length := ended.since.Sub(last.began.since).Seconds()
	changed := changedEvents(last.number, number, length)
	switch {
	case number >= 0 && last.number < 0, last.began.revision == 0:
		// At the beginning of the period, the number of Events or the revision was unknown. So the next period decides.
	case number < 0, min(changed, changesBetween(last.began, ended)) < s.costlyRate*length:
		c.period = min(2*last.period, maxCostPeriod)
	case changed > float64(maxPerUsed*last.used):
		if c.costly = last.costly + 1; c.costly >= costlyPeriods {
			s.markCostly(namespace)
			return
		}
	}
	c.due = s.config.Now().Add(c.period)
}

// endSlowPeriod ends a period in which many objects of the cluster changed. At the end of the period, the API server
// did not respond in time to the request for a list of one Event. Either the namespace contains so many Events that the
// API server needs seconds to count them, or the API server is overloaded. So the namespace seemed costly, unless its
// latest known number of Events is at most maxHistory. If the number of Events was never known, the namespace becomes
// costly only after 2*costlyPeriods periods instead of costlyPeriods. endSlowPeriod takes the lock.
func (s *Source) endSlowPeriod(namespace string, ended position) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, needed := s.costs[namespace], costlyPeriods
	if c.known < 0 {
		needed = 2 * costlyPeriods
	}
	if c.known < 0 || c.known > maxHistory {
		*c = namespaceCost{began: ended, number: -1, known: c.known, period: costPeriod, costly: c.costly + 1,
			open: s.hasOpenWatch(namespace)}
		if c.costly >= needed {
			s.markCostly(namespace)
			return
		}
	}
	c.due = s.config.Now().Add(costPeriod)
}

// changedEvents estimates how many Events of a namespace were created or deleted in a period. The parameters are the
// numbers of Events before and after the period, and the length of the period in seconds. The result is the larger of
// two estimates. The first estimate is the difference between the two numbers. This estimate is too small if the API
// server deletes old Events while clients create new ones. For the second estimate, changedEvents assumes that all
// existing Events were created within eventTTL, at a constant rate, and computes how many of them were created in the
// period. If the number did not change at all, the result is zero.
func changedEvents(before, after int64, length float64) float64 {
	if before == after {
		return 0
	}
	return max(math.Abs(float64(after-before)), float64(after)*length/eventTTL.Seconds())
}

// markCostly marks a namespace as costly and closes its watches. While the namespace is costly, its watches wait, and
// waitingPods reports their pods. The caller must hold the lock.
func (s *Source) markCostly(namespace string) {
	duration := costlyFor + rand.N(costlyFor/2)
	s.costly.set(namespace, s.config.Now().Add(duration))
	time.AfterFunc(duration, s.refresh) // makes Run open the waiting watches
	s.metrics.costly.Inc()
	delete(s.costs, namespace)
	if shared := s.shared[namespace]; shared.hasSlot() {
		shared.cancel()
	}
	for _, p := range s.requests {
		if p.own.hasSlot() && p.own.namespace == namespace {
			p.own.cancel()
		}
	}
}
