package imagepull

import (
	"testing"
	"time"
)

func TestBackoff(t *testing.T) {
	for failures, want := range map[int]time.Duration{-1: 0, 0: 0, 1: 10 * time.Second, 2: 20 * time.Second,
		5: 160 * time.Second,
		6: 300 * time.Second, 1 << 30: 300 * time.Second} {
		if got := Backoff(failures); got != want {
			t.Errorf("after %d failures %s, want %s", failures, got, want)
		}
	}
}
