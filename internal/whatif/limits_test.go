package whatif

import (
	"slices"
	"time"

	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// widthLimit returns the largest accepted mean width of the predicted durations: 30 % of the start-up, 4 s for error
// bounds and the kubelet's lists, and 1.25 times the longest time of the probes. For parallel pulls, the limit is 50 %
// of the start-up, because the other pulls can take all but a fair share of the rate. These numbers exceed the actual
// mean widths by 5 % to 50 %. The scenario what-if of the lab has the same limit.
func widthLimit(record api.Record, change api.WhatIf) time.Duration {
	percent := time.Duration(30)
	if change == api.WhatIfParallelPulls {
		percent = 50
	}
	limit := record.Total.Duration()*percent/100 + 4*time.Second
	for _, probe := range record.Probes {
		limit += untilPassed(probe) * 5 / 4
	}
	return limit
}

// byChance returns how much earlier the steps that a shorter probe period does not change can end by chance. For other
// changes, the predicted gain includes this time, so byChance returns 0.
func byChance(record api.Record, p api.WhatIfRecord) (sum api.Seconds) {
	kind, ok := changedProbe(p.Change)
	if !ok {
		return 0
	}
	for _, phase := range record.Phases {
		if phase.Phase == timeline.PhaseKubeletSync || phase.Phase == timeline.PhaseFailedRun {
			sum += api.Seconds(relist)
		}
	}
	for _, probe := range record.Probes {
		if probe.Kind != kind || probe.Container != p.Container {
			sum += api.Seconds(untilPassed(probe) + relist)
		}
	}
	return sum
}

// longestWait returns the longest possible wait for the probe whose period a change shortens, or the duration of the
// start-up for other changes.
func longestWait(record api.Record, p api.WhatIfRecord) (waited api.Seconds) {
	kind, ok := changedProbe(p.Change)
	if !ok {
		return record.Total
	}
	for i := range record.Phases {
		phase := &record.Phases[i]
		if name := probePhases()[kind]; phase.Container == p.Container &&
			(phase.Phase == name || slices.Contains(phase.MergedWith, name)) {
			waited += api.Seconds(longestTime(phase))
		}
	}
	for _, probe := range record.Probes {
		if probe.Kind == kind && probe.Container == p.Container {
			waited = min(waited, api.Seconds(untilPassed(probe)+relist))
		}
	}
	return waited
}

// changedProbe returns the kind of the probe whose period a change shortens.
func changedProbe(change api.WhatIf) (timeline.ProbeKind, bool) {
	kinds := map[api.WhatIf]timeline.ProbeKind{
		api.WhatIfReadiness: timeline.ProbeReadiness, api.WhatIfStartup: timeline.ProbeStartup,
	}
	kind, ok := kinds[change]
	return kind, ok
}
