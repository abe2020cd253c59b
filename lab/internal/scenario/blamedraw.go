package scenario

import (
	"math/rand/v2"
	"sync"
	"time"
)

// lengths returns a function that draws durations of faults, from three to six seconds. The function is safe for
// concurrent use.
func lengths(seed uint64) func() time.Duration {
	random := rand.New(rand.NewPCG(seed, 1))
	var mu sync.Mutex
	return func() time.Duration {
		mu.Lock()
		defer mu.Unlock()
		return 3*time.Second + time.Duration(random.Int64N(int64(3*time.Second))).Round(time.Millisecond)
	}
}
