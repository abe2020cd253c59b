package cri

import (
	"context"
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

const (
	// watchedHeartbeat is how often the runtime is asked for its version while pods start.
	watchedHeartbeat = time.Second
	// slowAnswer is how long an answer takes that a busy machine does not explain.
	slowAnswer = 300 * time.Millisecond
)

// silence remembers when the runtime answered last. The goroutine in Source.Run owns it.
type silence struct {
	watched    bool // pods start
	answeredAt time.Time
}

// every is how often the runtime is to be asked for its version.
func (s *silence) every() time.Duration {
	if s.watched {
		return watchedHeartbeat
	}
	return heartbeat
}

// answered notes an answer to a question of that instant, and observes a silence if it took long while pods started.
func (s *silence) answered(ctx context.Context, c Config, sentAt time.Time) {
	if s.watched && c.Now().Sub(sentAt) >= slowAnswer {
		s.ended(ctx, c)
		return
	}
	s.answeredAt = c.Now()
}

// ended notes an answer after a time in which there was none, and observes that if pods started meanwhile.
func (s *silence) ended(ctx context.Context, c Config) {
	now, last := c.Now(), s.answeredAt
	s.answeredAt = now
	if s.watched && !last.IsZero() && last.Before(now) {
		c.Observe(ctx, timeline.RuntimeSilent{ArrivedAt: now, From: last, Until: now})
	}
}
