package scenario

import (
	"context"
	"errors"
	"time"

	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/metrics"
)

// watchTruth contains the agent's counters about its watch.
type watchTruth struct {
	complete, failed, skipped float64
	missing, extra, stale     float64
	boundCount, boundSeconds  float64

	modifiedCount, modifiedSeconds float64
	verifiedAt                     time.Time
}

func readTruth(ctx context.Context, b *bench.Bench) (now watchTruth, err error) {
	text, err := b.Agent.Metrics(ctx)
	if err != nil {
		return watchTruth{}, err
	}
	read := func(into *float64, name string, labels ...string) {
		var wrong error
		*into, wrong = metrics.Sum(text, name, labels...)
		err = errors.Join(err, wrong)
	}
	var verified float64
	read(&now.complete, "podlapse_pod_cache_verifications_total", `result="complete"`)
	read(&now.failed, "podlapse_pod_cache_verifications_total", `result="failed"`)
	read(&now.skipped, "podlapse_pod_cache_verifications_total", `result="skipped"`)
	read(&now.missing, "podlapse_pod_cache_repairs_total", `difference="missing"`)
	read(&now.extra, "podlapse_pod_cache_repairs_total", `difference="extra"`)
	read(&now.stale, "podlapse_pod_cache_repairs_total", `difference="stale"`)
	read(&now.boundCount, "podlapse_pod_watch_delay_seconds_count", `change="bound"`)
	read(&now.boundSeconds, "podlapse_pod_watch_delay_seconds_sum", `change="bound"`)
	read(&now.modifiedCount, "podlapse_pod_watch_delay_seconds_count", `change="modified"`)
	read(&now.modifiedSeconds, "podlapse_pod_watch_delay_seconds_sum", `change="modified"`)
	read(&verified, "podlapse_pod_cache_verified_timestamp_seconds")
	now.verifiedAt = time.Unix(0, int64(verified*1e9))
	return now, err
}

// growthSince returns how much each counter has grown since the values in "before". The field verifiedAt is a time and
// not a counter, so growthSince copies it without a change.
func (t watchTruth) growthSince(before watchTruth) watchTruth {
	return watchTruth{
		t.complete - before.complete, t.failed - before.failed, t.skipped - before.skipped,
		t.missing - before.missing, t.extra - before.extra, t.stale - before.stale,
		t.boundCount - before.boundCount, t.boundSeconds - before.boundSeconds,
		t.modifiedCount - before.modifiedCount, t.modifiedSeconds - before.modifiedSeconds, t.verifiedAt,
	}
}
