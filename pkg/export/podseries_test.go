package export

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/podlapse/podlapse/internal/startuptest"
	"github.com/podlapse/podlapse/pkg/timeline"
)

func TestPodSeries(t *testing.T) {
	pods := []timeline.Timeline{startuptest.ColdStart(), startuptest.StillPulling()}
	before := startuptest.ColdStart()
	before.UID, before.Total = "before", time.Hour // an earlier pod with the same name
	clockSet := startuptest.ColdStart()
	clockSet.Name, clockSet.Missing = "web-1", []string{timeline.MissingClock}
	pods = append(pods, before, clockSet)
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(NewPodSeries(func() []timeline.Timeline { return pods }))
	const want = `# HELP podlapse_pod_startup_seconds Duration of the start-up of each pod on this node. While a ` +
		`pod is starting, the value is the time since the creation of the pod. ` +
		`Excludes completed start-ups during which the node's clock was set.
# TYPE podlapse_pod_startup_seconds gauge
podlapse_pod_startup_seconds{namespace="shop",pod="batch",state="starting",workload="",workload_kind=""} 4
podlapse_pod_startup_seconds{namespace="shop",pod="web-0",state="ready",workload="web",workload_kind="StatefulSet"} ` +
		`12.000000001
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "podlapse_pod_startup_seconds"); err != nil {
		t.Error(err)
	}
	const age = `# HELP podlapse_pod_phase_age_seconds Time since a starting pod entered its current start-up ` +
		`phase, for example "image_backoff". The label "cause" contains the cause of this phase. Covers the ` +
		`starting pods in podlapse_pod_startup_seconds.
# TYPE podlapse_pod_phase_age_seconds gauge
podlapse_pod_phase_age_seconds{cause="registry",namespace="shop",phase="pull",pod="batch"} 3
`
	err := testutil.GatherAndCompare(registry, strings.NewReader(age), "podlapse_pod_phase_age_seconds")
	if err != nil {
		t.Error(err)
	}
	// The API server does not validate the owner in a pod's metadata.
	foreign := startuptest.ColdStart()
	foreign.Owner = timeline.Owner{Kind: "K\xff" + strings.Repeat("k", 100), Name: "n\xff" + strings.Repeat("é", 1000)}
	pods = []timeline.Timeline{foreign, startuptest.StillPulling()}
	cut := `# HELP podlapse_pod_startup_seconds Duration of the start-up of each pod on this node. While a pod is ` +
		`starting, the value is the time since the creation of the pod. ` +
		`Excludes completed start-ups during which the node's clock was set.
# TYPE podlapse_pod_startup_seconds gauge
podlapse_pod_startup_seconds{namespace="shop",pod="batch",state="starting",workload="",workload_kind=""} 4
podlapse_pod_startup_seconds{namespace="shop",pod="web-0",state="ready",workload="n` + strings.Repeat(
		"é",
		125,
	) +
		`",workload_kind="K` + strings.Repeat(
		"k",
		61,
	) + `"} 12.000000001
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(cut), "podlapse_pod_startup_seconds"); err != nil {
		t.Error(err)
	}
	pods = nil // the pods were deleted
	if n, err := testutil.GatherAndCount(registry, "podlapse_pod_startup_seconds"); err != nil || n != 0 {
		t.Errorf("%d series of deleted pods, %v", n, err)
	}
	for i := range maxPods + 7 {
		pods = append(pods, timeline.Timeline{Namespace: "shop", Name: fmt.Sprint("web-", i),
			State: timeline.StateReady})
	}
	const dropped = `# HELP podlapse_pod_series_dropped_total Pods without a series of ` +
		`podlapse_pod_startup_seconds, because the node has too many pods. At each scrape, this counter increases by ` +
		`the number of these pods.
# TYPE podlapse_pod_series_dropped_total counter
podlapse_pod_series_dropped_total 7
`
	err = testutil.GatherAndCompare(registry, strings.NewReader(dropped), "podlapse_pod_series_dropped_total")
	if err != nil {
		t.Error(err)
	}
	if n, err := testutil.GatherAndCount(registry, "podlapse_pod_startup_seconds"); err != nil || n != maxPods {
		t.Errorf("%d series, %v", n, err)
	}
}
