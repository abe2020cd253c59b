package eventwatch

import (
	"context"
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// countWaiting returns the number of requested pods for which no Event watch has a slot.
func (s *Source) countWaiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	count := 0
	for _, p := range s.requests {
		if !p.own.hasSlot() && !p.shared.hasSlot() {
			count++
		}
	}
	return count
}

// waitingPods returns the pods that have waited for a slot for at least unservedAfter. waitingPods returns each pod
// only once per wait. The channel "next" delivers a value as soon as another pod has waited for unservedAfter. If
// waitingPods has already returned every pod that waits, "next" is nil. If a pod has waited for at least unservedAfter
// and its namespace is costly, waitingPods also deletes the position of this pod.
func (s *Source) waitingPods() (overdue []*request, next <-chan time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, wait := s.config.Now(), time.Duration(0)
	for _, p := range s.requests {
		switch {
		case p.own.hasSlot() || p.shared.hasSlot():
			p.waitsSince, p.waitReported = time.Time{}, false
			continue
		case p.waitsSince.IsZero():
			p.waitsSince = now
		}
		left := unservedAfter - now.Sub(p.waitsSince)
		if left <= 0 && s.costly.has(p.watch.Namespace, now) {
			p.forgetPosition() // from an old position, the next watch would make the API server decode many Events
		}
		switch {
		case p.waitReported:
		case left <= 0:
			p.waitReported = true
			overdue = append(overdue, p)
		case wait == 0 || left < wait:
			wait = left
		}
	}
	if wait > 0 {
		next = time.After(wait)
	}
	return overdue, next
}

// reportWaiting reports that pods wait for an Event watch because of the agent's limits.
func (s *Source) reportWaiting(ctx context.Context, pods []*request) {
	for _, p := range pods {
		p.reportWaiting(timeline.EventsLost{ArrivedAt: s.config.Now(), Limited: true}, func(o timeline.Observation) {
			s.config.Observe(ctx, o)
		})
	}
}
