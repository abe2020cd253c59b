package export

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// TestSizedMetricsCoverTheSamePulls checks three pulls of 3 s each: one pull with bytes, one pull without, and one pull
// that shares a layer with another pull. The durations of pulls cover all three, and the sized metrics only the first.
func TestSizedMetricsCoverTheSamePulls(t *testing.T) {
	m := newPullMetrics(prometheus.NewPedanticRegistry())
	pull := timeline.Pull{Registry: "r.example", Outcome: imagepull.OutcomeDownloaded, Timed: true,
		Pull: 3 * time.Second, StartedAt: after(0), DownloadedAt: after(2 * time.Second),
		FinishedAt: after(3 * time.Second),
		Layers: []timeline.Layer{
			{Digest: "sha256:a", SizeBytes: 100, DownloadedAt: after(time.Second),
				UnpackedAt: after(1500 * time.Millisecond)},
			{Digest: "sha256:b", SizeBytes: 20, DownloadedAt: after(2 * time.Second),
				UnpackedAt: after(3 * time.Second)},
		}}
	undated, shares := pull, pull
	undated.Layers, undated.DownloadedAt = nil, time.Time{}
	shares.Shared = []bool{true, false}
	m.observe(timeline.Timeline{Pulls: []timeline.Pull{undated}}, nil)
	if n := testutil.CollectAndCount(m.sized.pulls) + testutil.CollectAndCount(m.sized.unpack); n != 0 {
		t.Errorf("%d series without a sized pull", n)
	}
	m.observe(timeline.Timeline{Pulls: []timeline.Pull{shares, pull}}, nil)
	for name, test := range map[string]struct {
		counter *prometheus.CounterVec
		want    float64
	}{
		"pulls": {m.sized.pulls, 1}, "seconds": {m.sized.seconds, 3}, "bytes": {m.sized.bytes, 120},
		"unpack": {m.sized.unpack, 1.5},
	} {
		if got := testutil.ToFloat64(test.counter.WithLabelValues("r.example")); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}
