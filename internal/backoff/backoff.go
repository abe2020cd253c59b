// Package backoff computes how long to wait before a retry.
package backoff

import (
	"context"
	"math/rand/v2"
	"time"
)

// Policy doubles the wait with each failure in a row, from First up to Max.
type Policy struct{ First, Max time.Duration }

// Delay returns how long to wait after a number of failures in a row. It takes off up to half at
// random, so that the agents of many nodes do not retry together.
func (p Policy) Delay(failures int) time.Duration {
	d := p.Max
	if failures < 10 {
		d = min(p.First<<failures, p.Max)
	}
	return d/2 + rand.N(d/2)
}

// Sleep waits unless ctx ends first, and reports whether it waited to the end.
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
