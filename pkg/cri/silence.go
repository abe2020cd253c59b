package cri

import (
	"context"
	"time"

	"github.com/podlapse/podlapse/internal/pulse"
	"github.com/podlapse/podlapse/pkg/timeline"
)

const (
	// watchedHeartbeat is the interval at which the agent requests the runtime's version while pods start.
	watchedHeartbeat = time.Second
	// slowResponse is a response time that is too long even for a busy machine.
	slowResponse = 300 * time.Millisecond
)

// silenceDetector holds the time of the runtime's last response. Only the goroutine in Source.Run uses this type.
type silenceDetector struct {
	watched     bool // pods are starting
	respondedAt time.Time
}

// untilHeartbeat returns the time until the next request for the runtime's version.
func (s *silenceDetector) untilHeartbeat() time.Duration {
	interval := heartbeat
	if s.watched {
		interval = watchedHeartbeat
	}
	return pulse.Until(time.Now(), interval)
}

// recordResponse records the response to a request sent at sentAt. If the response was slow while pods were starting,
// recordResponse also passes a RuntimeSilent to Config.Observe.
func (s *silenceDetector) recordResponse(ctx context.Context, c Config, sentAt time.Time) {
	if s.watched && c.Now().Sub(sentAt) >= slowResponse {
		s.recordEnd(ctx, c)
		return
	}
	s.respondedAt = c.Now()
}

// recordEnd records the first response after a silence. If pods were starting during the silence, recordEnd also passes
// a RuntimeSilent to Config.Observe.
func (s *silenceDetector) recordEnd(ctx context.Context, c Config) {
	now, last := c.Now(), s.respondedAt
	s.respondedAt = now
	if s.watched && !last.IsZero() && last.Before(now) {
		c.Observe(ctx, timeline.RuntimeSilent{ArrivedAt: now, From: last, Until: now})
	}
}
