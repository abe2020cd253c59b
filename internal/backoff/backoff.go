// Package backoff computes the wait before a retry.
package backoff

import (
	"context"
	"math/rand/v2"
	"time"
)

// Policy doubles the wait after each consecutive failure, from First up to Max.
type Policy struct{ First, Max time.Duration }

// Delay returns the wait after the given number of consecutive failures. Delay subtracts a random part, which is at
// most half of the wait. Because of the random part, the agents of many nodes do not retry at the same time.
func (p Policy) Delay(failures int) time.Duration {
	d := p.Max
	if failures < 10 {
		d = min(p.First<<failures, p.Max)
	}
	return d/2 + rand.N(d/2)
}

// Sleep waits for d or until ctx is done. Sleep returns true if the whole time d has passed.
func Sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
