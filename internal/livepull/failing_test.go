package livepull

import (
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
		`runtime's error. The latest completed attempt of such a pull failed. The pull still counts while its next ` +
		`attempt is in progress. reason="unconfirmed": Events report the failure, but the pod's status does not. ` +
		`The label registry is the host in the image reference. The content can come from a mirror of this host.
# TYPE podlapse_image_pulls_failing gauge
podlapse_image_pulls_failing{reason="dns",registry="r.example"} 2
podlapse_image_pulls_failing{reason="other",registry="r.example"} 1
podlapse_image_pulls_failing{reason="unconfirmed",registry="r.example"} 1
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "podlapse_image_pulls_failing"); err != nil {
		t.Error(err)
	}
}
