package kubeclienttest

import (
	"context"
	"runtime"
	"time"
)

// PeakHeap returns the maximum growth of the heap, in bytes, while a function runs.
func PeakHeap(run func()) int {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	before, peak := stats.HeapAlloc, stats.HeapAlloc
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			var now runtime.MemStats
			runtime.ReadMemStats(&now)
			peak = max(peak, now.HeapAlloc)
			time.Sleep(time.Millisecond)
		}
	}()
	run()
	stop()
	<-ended
	return int(peak - before)
}
