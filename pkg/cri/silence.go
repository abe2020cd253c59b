package cri

import (
	"context"
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

const (
	// watchedHeartbeat is how often the agent requests the runtime's version while pods start.
	watchedHeartbeat = time.Second
	// slowAnswer is a response time that a busy machine does not explain.
	slowAnswer = 300 * time.Millisecond
)

// silence remembers when the runtime last responded. Only the goroutine in Source.Run uses it.
type silence struct {
	watched    bool // pods are starting
	answeredAt time.Time
}

// every returns how often to request the runtime's version.
func (s *silence) every() time.Duration {
	if s.watched {
		return watchedHeartbeat
	}
	return heartbeat
}

// answered notes the response to a request sent at sentAt, and observes a silence if it took long
// while pods started.
func (s *silence) answered(ctx context.Context, c Config, sentAt time.Time) {
	if s.watched && c.Now().Sub(sentAt) >= slowAnswer {
		s.ended(ctx, c)
		return
	}
	s.answeredAt = c.Now()
}

// ended notes the first response after a silence, and observes the silence if pods started meanwhile.
func (s *silence) ended(ctx context.Context, c Config) {
	now, last := c.Now(), s.answeredAt
	s.answeredAt = now
	if s.watched && !last.IsZero() && last.Before(now) {
		c.Observe(ctx, timeline.RuntimeSilent{ArrivedAt: now, From: last, Until: now})
	}
}
