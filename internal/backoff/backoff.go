// Package backoff says how long to wait before the next try.
package backoff

import (
	"context"
	"math/rand/v2"
	"time"
)

// Policy doubles the wait with each failure in a row, from First up to Max.
type Policy struct{ First, Max time.Duration }

// Delay is how long to wait after so many failures in a row. A random half is taken off, so that the
// agents of many nodes do not come back together.
func (p Policy) Delay(failures int) time.Duration {
	d := p.Max
	if failures < 10 {
		d = min(p.First<<failures, p.Max)
	}
	return d/2 + rand.N(d/2)
}

// Sleep waits unless ctx ends first, and says whether it waited to the end.
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
