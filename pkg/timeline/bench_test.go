package timeline

import (
	"runtime"
	"testing"
	"time"
)

func firstLight(b testing.TB) *script {
	input, _ := readScript(b, "testdata/first-light.script")
	return parseScript(b, input)
}

// BenchmarkApply applies observations that the evidence already contains. In the steady state, most observations
// contain nothing new.
func BenchmarkApply(b *testing.B) {
	s := firstLight(b)
	e := s.evidence()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		e.Apply(s.observations[i%len(s.observations)])
	}
}

// BenchmarkEvidence measures the memory that a pod needs while it starts, including the pod object.
func BenchmarkEvidence(b *testing.B) {
	kept := make([]*Evidence, 0, 200)
	var before, after runtime.MemStats
	for b.Loop() {
		clear(kept)
		kept = kept[:0]
		runtime.GC()
		runtime.ReadMemStats(&before)
		for range cap(kept) {
			kept = append(kept, firstLight(b).evidence())
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
	}
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(cap(kept)), "B/pod")
	runtime.KeepAlive(kept)
}

// BenchmarkFold folds a pod with an init container, a sidecar and a main container.
func BenchmarkFold(b *testing.B) {
	s := firstLight(b)
	e := s.evidence()
	b.ReportAllocs()
	for b.Loop() {
		e.fold(at(s.asOf), s.skew)
	}
}

// BenchmarkPack packs the timeline of the same pod, and measures the memory of the packed timeline.
func BenchmarkPack(b *testing.B) {
	s := firstLight(b)
	t, _ := s.evidence().Timeline(s.asOf, s.skew)
	b.ReportAllocs()
	for b.Loop() {
		Pack(t)
	}
	b.ReportMetric(float64(len(Pack(t).text)), "B/pod")
}

func BenchmarkUnpack(b *testing.B) {
	s := firstLight(b)
	t, _ := s.evidence().Timeline(s.asOf, s.skew)
	packed := Pack(t)
	b.ReportAllocs()
	for b.Loop() {
		packed.Timeline()
	}
}

// BenchmarkCachedTimeline requests the timeline of unchanged evidence again and again, each time one millisecond later.
func BenchmarkCachedTimeline(b *testing.B) {
	s := firstLight(b)
	e := s.evidence()
	b.ReportAllocs()
	for now := s.asOf; b.Loop(); now = now.Add(time.Millisecond) {
		if _, ok := e.Timeline(now, s.skew); !ok {
			b.Fatal("no timeline")
		}
	}
}
