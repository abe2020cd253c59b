package livepull

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

func TestFailingPulls(t *testing.T) {
	attempt := func(container string, outcome imagepull.Outcome, why imagepull.Failure) timeline.Pull {
		return timeline.Pull{Container: container, Registry: "r.example", Outcome: outcome, Failure: why}
	}
	const failed, pulling, downloaded, unknown = imagepull.OutcomeFailed, imagepull.OutcomePulling,
		imagepull.OutcomeDownloaded, imagepull.OutcomeUnknown
	starting := func(pulls ...timeline.Pull) timeline.Timeline {
		return timeline.Timeline{State: timeline.StateStarting, Pulls: pulls}
	}
	over := starting(attempt("app", failed, imagepull.FailureDNS))
	over.State = timeline.StateDeleted
	forged := attempt("app", failed, imagepull.FailureRateLimited)
	forged.Unconfirmed = true
	timelines := []timeline.Timeline{
		starting(forged),
		starting(attempt("app", failed, imagepull.FailureTimeout), attempt("app", failed, imagepull.FailureDNS)),
		starting(attempt("app", failed, imagepull.FailureDNS), attempt("app", pulling, ""),
			attempt("proxy", failed, "")),
		starting(attempt("setup", failed, imagepull.FailureTLS), attempt("setup", downloaded, ""),
			attempt("app", pulling, "")),
		starting(attempt("app", failed, imagepull.FailureTLS), attempt("app", unknown, "")),
		over,
	}
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(NewCollector(func() Snapshot { return Snapshot{Starting: timelines, Now: after(0)} }))
	want := `# HELP podlapse_image_pulls_failing Failing image pulls of starting pods, by the reason in the ` +
		`runtime's error. A pull is failing if its latest completed attempt failed. The pull still counts while the ` +
		`next attempt is in progress. reason="unconfirmed": Events report the failure, but the pod's status does ` +
		`not confirm it. The label "registry" contains the host in the image reference. The content can come from a ` +
		`mirror of this host.
# TYPE podlapse_image_pulls_failing gauge
podlapse_image_pulls_failing{reason="dns",registry="r.example"} 2
podlapse_image_pulls_failing{reason="other",registry="r.example"} 1
podlapse_image_pulls_failing{reason="unconfirmed",registry="r.example"} 1
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "podlapse_image_pulls_failing"); err != nil {
		t.Error(err)
	}
}

// TestFailingPullsAreGroupedByWorkload checks that the pods of a workload have the same group on two nodes, so that
// the groups of all nodes count workloads.
func TestFailingPullsAreGroupedByWorkload(t *testing.T) {
	pod := func(namespace, name string, owner timeline.Owner) timeline.Timeline {
		return timeline.Timeline{Namespace: namespace, Name: name, Owner: owner, State: timeline.StateStarting,
			Pulls: []timeline.Pull{{Container: "app", Registry: "r.example", Outcome: imagepull.OutcomeFailed,
				Failure: imagepull.FailureDNS}}}
	}
	job := timeline.Owner{Kind: "CronJob", Name: "report"}
	groups := func(pods ...timeline.Timeline) int {
		registry := prometheus.NewPedanticRegistry()
		registry.MustRegister(NewCollector(func() Snapshot { return Snapshot{Starting: pods, Now: after(0)} }))
		n, err := testutil.GatherAndCount(registry, "podlapse_image_pulls_failing_workloads")
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for _, test := range []struct {
		what string
		pods []timeline.Timeline
		want int
	}{
		{"no pod", nil, 0},
		{"two runs of a CronJob", []timeline.Timeline{pod("shop", "report-1-a", job),
			pod("shop", "report-2-b", job)}, 1},
		{"workloads with the same name", []timeline.Timeline{pod("shop", "report-1-a", job),
			pod("billing", "report-2-b", job),
			pod("shop", "report-x", timeline.Owner{Kind: "Deployment", Name: "report"})}, 3},
		{"pods without an owner", []timeline.Timeline{pod("shop", "a", timeline.Owner{}),
			pod("shop", "b", timeline.Owner{})}, 2},
	} {
		if got := groups(test.pods...); got != test.want {
			t.Errorf("%s: %d groups, want %d", test.what, got, test.want)
		}
	}
	seen := map[int]bool{}
	for i := range 10 * buckets {
		bucket := bucketOf(pod("shop", fmt.Sprint("web-", i), timeline.Owner{}))
		if bucket < 0 || bucket >= buckets {
			t.Fatalf("group %d, want 0 to %d", bucket, buckets-1)
		}
		seen[bucket] = true
	}
	if len(seen) < buckets*9/10 {
		t.Errorf("%d of %d groups are used", len(seen), buckets)
	}
}
