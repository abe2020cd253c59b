package timeline

import (
	"slices"
	"testing"
	"time"
)

func TestTimelineListsProbes(t *testing.T) {
	timing := func(period time.Duration) ProbeTiming { return ProbeTiming{Period: period, Timeout: time.Second} }
	pod := Pod{UID: "u", CreatedAt: base, Containers: []Container{
		{Name: "proxy", Kind: KindSidecar, StartupTiming: timing(2 * time.Second)},
		{Name: "app", Kind: KindMain, StartupTiming: timing(3 * time.Second),
			ReadinessTiming: timing(10 * time.Second)},
		{Name: "plain", Kind: KindMain},
		{Name: "debug", Kind: KindEphemeral, ReadinessTiming: timing(time.Second)},
	}}
	var e Evidence
	e.Apply(PodSeen{ArrivedAt: base, Live: true, Pod: pod})
	tl, ok := e.Timeline(base.Add(time.Second), Skew{})
	want := []Probe{
		{"proxy", ProbeStartup, timing(2 * time.Second)}, {"app", ProbeStartup, timing(3 * time.Second)},
		{"app", ProbeReadiness, timing(10 * time.Second)},
	}
	if !ok || !slices.Equal(tl.Probes, want) {
		t.Errorf("the timeline lists %+v, want %+v", tl.Probes, want)
	}
}
