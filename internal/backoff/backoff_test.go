package backoff

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestDelayDoublesUpToItsMaximum(t *testing.T) {
	p := Policy{First: 200 * time.Millisecond, Max: 5 * time.Second}
	for failures, want := range map[int]time.Duration{0: p.First, 1: 2 * p.First, 3: 8 * p.First, 5: p.Max,
		1 << 40: p.Max} {
		for range 100 {
			if d := p.Delay(failures); d < want/2 || d > want {
				t.Errorf("after %d failures the delay is %s, want half of %s to all of it", failures, d, want)
			}
		}
	}
}

func TestSleepReturnsWhenContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if !Sleep(t.Context(), time.Hour) {
			t.Error("returned before the delay was over")
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if Sleep(ctx, time.Hour) {
			t.Error("did not return when the context ended")
		}
	})
}
