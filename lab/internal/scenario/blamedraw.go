package scenario

import (
	"math/rand/v2"
	"sync"
	"time"
)

// drawLengths returns a function. Each call of this function returns the random duration of a fault, between three and
// six seconds. The returned function is safe for concurrent use.
func drawLengths(seed uint64) func() time.Duration {
	random := rand.New(rand.NewPCG(seed, 1))
	var mu sync.Mutex
	return func() time.Duration {
		mu.Lock()
		defer mu.Unlock()
		return 3*time.Second + time.Duration(random.Int64N(int64(3*time.Second))).Round(time.Millisecond)
	}
}
