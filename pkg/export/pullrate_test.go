package export

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// TestRatesExcludeResumedPulls checks the download rate, which is bytes divided by time. The bytes and the time of a
// resumed pull must not count. The time of two parallel pulls must count once.
func TestRatesExcludeResumedPulls(t *testing.T) {
	start := time.Unix(1000, 0)
	pull := func(from, until int, resumed bool) timeline.Pull {
		return timeline.Pull{Container: "app", Registry: "r.example", Outcome: imagepull.OutcomeDownloaded, Timed: true,
			Resumed:      resumed,
			StartedAt:    start.Add(time.Duration(from) * time.Second),
			DownloadedAt: start.Add(time.Duration(until) * time.Second),
			FinishedAt:   start.Add(time.Duration(until) * time.Second), Pull: time.Duration(until-from) * time.Second,
			Layers: []timeline.Layer{{Digest: "sha256:a", SizeBytes: 1000,
				DownloadedAt: start.Add(time.Duration(until) * time.Second)}}}
	}
	pulls := []timeline.Pull{pull(0, 10, false), pull(5, 15, false), pull(20, 21, true)}
	pulls[2].Registry = "resumed.example"
	registry := prometheus.NewRegistry()
	m := newPullMetrics(registry)
	m.observe(timeline.Timeline{Pulls: pulls}, nil)
	if bytes, busy := testutil.ToFloat64(m.bytes), testutil.ToFloat64(m.busy); bytes != 2000 || busy != 15 {
		t.Errorf("%.0f bytes in %.0f s, want 2000 in 15", bytes, busy)
	}
	if n := testutil.CollectAndCount(m.pull); n != 1 {
		t.Errorf("%d series of durations", n)
	}
	records := api.PullRecords(timeline.Timeline{Pulls: pulls})
	if records[0].Download.BytesPerSecond != 100 || records[2].Download.BytesPerSecond != 0 || !records[2].Resumed {
		t.Errorf("%+v, %+v", records[0].Download, records[2].Download)
	}
}
