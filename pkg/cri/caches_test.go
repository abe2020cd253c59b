package cri

import (
	"fmt"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/lru"
)

// TestCachesAreBounded fills each cache of the runtime's responses beyond its limit.
func TestCachesAreBounded(t *testing.T) {
	source := New(Config{Now: time.Now, Registerer: prometheus.NewRegistry()})
	for _, test := range []struct {
		name  string
		cache *lru.Cache
		most  int
	}{
		{"sandboxes", source.stamps, maxStamps},
		{"containers", source.statuses, maxStatuses},
		{"contents of images", source.contents, maxContents},
	} {
		for i := range test.most + 10 {
			test.cache.Add(strconv.Itoa(i), i)
		}
		if got := test.cache.Len(); got != test.most || got > 8192 {
			t.Errorf("%s: %d entries, want at most %d", test.name, got, test.most)
		}
		if _, cached := test.cache.Get("0"); cached {
			t.Errorf("%s: the least recently used entry is still cached", test.name)
		}
	}
}

// BenchmarkStatuses measures the memory of the full cache of containers.
func BenchmarkStatuses(b *testing.B) {
	var before, after runtime.MemStats
	for b.Loop() {
		runtime.GC()
		runtime.ReadMemStats(&before)
		cache := lru.New(maxStatuses)
		for i := range 2 * maxStatuses {
			cache.Add(fmt.Sprintf("%064d", i), &runStatus{startedAt: int64(i)})
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/(1<<20), "MiB")
		runtime.KeepAlive(cache)
	}
}
