package kubeclienttest

import (
	"context"
	"runtime"
	"time"
)

// PeakHeap returns, in bytes, by how much the memory in use grows at most while a function runs.
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
