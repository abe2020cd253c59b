package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/podlapse/podlapse/internal/livepull"
	"github.com/podlapse/podlapse/internal/startuptest"
	"github.com/podlapse/podlapse/pkg/export"
	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// fullNode is a node with the given numbers of pods and registries. Its start-up metrics have every possible label
// value, and its histograms have observations of all durations.
type fullNode struct {
	pods, registries int
	podSeries        bool // --metrics-pod-labels
	workloads        int  // --metrics-workloads
	trace            export.TraceOf
}

// registry returns a Prometheus registry with the metrics of the node.
func (n fullNode) registry() *prometheus.Registry {
	registry := prometheus.NewRegistry()
	metrics := export.NewMetrics(registry, n.trace)
	for i := range n.pods {
		metrics.Observe(n.pod(i))
	}
	if n.workloads > 0 {
		series := export.NewWorkloadSeries(registry, n.workloads)
		for i := range n.pods {
			pod := n.pod(i)
			pod.Owner.Name += strconv.Itoa(i)
			series.Observe(pod)
		}
	}
	var starting []timeline.Timeline
	for i := range n.pods {
		starting = append(starting, n.startingPod(i))
	}
	registry.MustRegister(
		export.NewClockSkew(
			func() timeline.Skew { return timeline.Skew{Least: -time.Millisecond, Most: time.Millisecond} },
		),
		export.NewStarting(func() []timeline.Timeline { return starting }),
		livepull.NewCollector(func() livepull.Snapshot {
			return livepull.Snapshot{Now: startuptest.After(time.Hour), Starting: starting}
		}),
	)
	if n.podSeries {
		registry.MustRegister(export.NewPodSeries(func() []timeline.Timeline { return starting }))
	}
	return registry
}

// pod returns a settled start-up with every phase. Its pulls come from one registry, and have every outcome and every
// failure.
func (n fullNode) pod(i int) timeline.Timeline {
	rng := rand.New(rand.NewPCG(1, uint64(i)))
	anyLength := func() time.Duration { // 1 ms to 1000 s, uniform on a logarithmic scale
		return time.Duration(math.Pow(10, 6*rng.Float64()) * float64(time.Millisecond))
	}
	states := []timeline.State{timeline.StateReady, timeline.StateReady, timeline.StateReady, timeline.StateSucceeded,
		timeline.StateFailed, timeline.StateDeleted, timeline.StateGivenUp}
	t := timeline.Timeline{
		Namespace: "shop", Name: fmt.Sprintf("web-7d4b9c6f5-%05d", i), UID: fmt.Sprint("uid-", i),
		State: states[i%len(states)],
		Total: anyLength(), LostEvents: []string{"Pulling/app"}, Missing: []string{"scheduled"},
	}
	for milestone := timeline.MilestoneCreated; milestone.String() != "unknown"; milestone++ {
		t.Conflicts = append(t.Conflicts, timeline.Conflict{Milestone: milestone})
	}
	at := startuptest.After(0)
	for _, phase := range timeline.Phases() {
		end := at.Add(anyLength())
		t.Phases = append(t.Phases, timeline.Span{Phase: phase, StartAt: at, EndAt: end})
		if phase == timeline.PhaseContainerStart { // with this container, the service level indicator is known
			t.Containers = []timeline.ContainerReached{{Kind: timeline.KindMain, RunningAt: end}}
		}
		at = end
	}
	outcomes := imagepull.Outcomes()
	for k := range outcomes {
		pull := timeline.Pull{
			Registry: n.host(i), Outcome: outcomes[k], Timed: true, QueueTimed: true, Pull: anyLength(),
			Queue: anyLength(),
			Layers: []timeline.Layer{
				{Digest: fmt.Sprint(i, k), SizeBytes: 1 << 20, DownloadedAt: startuptest.After(time.Second),
					UnpackedAt: startuptest.After(2 * time.Second)},
			},
			Shared: []bool{false}, StartedAt: startuptest.After(0), DownloadedAt: startuptest.After(time.Second),
			FinishedAt: startuptest.After(3 * time.Second),
			Confirmed:  n.host(i) != n.host(0), // only one registry has unconfirmed pulls
		}
		if pull.Outcome != imagepull.OutcomeFailed {
			t.Pulls = append(t.Pulls, pull)
			continue
		}
		for _, failure := range everyFailure {
			pull.Failure = failure
			t.Pulls = append(t.Pulls, pull)
		}
	}
	return t
}

// startingPod returns the timeline of a pod that waits for its image.
func (n fullNode) startingPod(i int) timeline.Timeline {
	t := timeline.Timeline{
		Namespace: "shop", Name: fmt.Sprintf("web-7d4b9c6f5-%05d", i), UID: fmt.Sprint("uid-", i),
		State: timeline.StateStarting, Owner: timeline.Owner{Kind: "Deployment", Name: "web"},
		Pulls: []timeline.Pull{{Container: "app", Image: fmt.Sprint(n.host(i), "/web:", i), Registry: n.host(i),
			Outcome: imagepull.OutcomePulling, RequestedAt: startuptest.After(time.Second)}},
	}
	if i == 0 {
		t.Pulls = append(t.Pulls,
			timeline.Pull{Container: "proxy", Registry: n.host(i), Outcome: imagepull.OutcomeFailed,
				Failure: imagepull.FailureDNS})
	}
	phases := timeline.Phases()
	t.Phases = []timeline.Span{{
		Phase: phases[i%len(phases)], StartAt: startuptest.After(0), EndAt: startuptest.After(time.Second),
	}}
	return t
}

// host returns the name of a registry, or an empty string.
func (n fullNode) host(i int) string {
	i %= n.registries + 1
	if i == n.registries {
		return ""
	}
	return fmt.Sprintf("registry-%d.eu-central-1.example.com:5000", i)
}

// everyFailure lists the failures that have a label value.
var everyFailure = []imagepull.Failure{imagepull.FailureNotFound, imagepull.FailureUnauthorized,
	imagepull.FailureForbidden, imagepull.FailureRateLimited, imagepull.FailureTimeout, imagepull.FailureDNS,
	imagepull.FailureConnectionRefused, imagepull.FailureTLS, imagepull.FailureNoSpace,
	imagepull.FailureNoMatchingPlatform, imagepull.FailureInvalidReference, imagepull.FailureSignature,
	imagepull.FailureCancelled, imagepull.FailureRegistryError, imagepull.FailureOther}
