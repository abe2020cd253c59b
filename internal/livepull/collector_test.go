package livepull

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

func TestUnpackingPullIsNotQueued(t *testing.T) {
	now := Snapshot{Now: after(60 * time.Second),
		Starting: []timeline.Timeline{waiting("one", "r.example/big:1", "r.example", time.Second),
			waiting("two", "o.example/big:1", "o.example", 3*time.Second),
			waiting("three", "o.example/big:2", "o.example", 3*time.Second)},
		Downloads: []imagepull.Download{{Complete: true, Registry: "r.example", Repository: "big",
			StartedAt: after(2 * time.Second)},
			{Blobs: 1, Registry: "o.example", Repository: "big", StartedAt: after(2 * time.Second)}}}
	want := `# HELP podlapse_image_pulls_queued Image pulls that still wait for their first content. The kubelet ` +
		`has decided to pull the image, and the pull waits in the node's pull queue or for the registry's first ` +
		`response. If the container runtime does not report the progress of pulls, this metric counts all pulls in ` +
		`progress. The label "registry" contains the host in the image reference. The content can come from a ` +
		`mirror of this host.
# TYPE podlapse_image_pulls_queued gauge
podlapse_image_pulls_queued{registry="o.example"} 0
podlapse_image_pulls_queued{registry="r.example"} 0
# HELP podlapse_image_pulls_unpacking Image pulls that have received all content. The runtime is unpacking this ` +
		`content, so these pulls wait for the disk, not for the registry.
# TYPE podlapse_image_pulls_unpacking gauge
podlapse_image_pulls_unpacking 1
`
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(NewCollector(func() Snapshot { return now }))
	err := testutil.GatherAndCompare(registry, strings.NewReader(want), "podlapse_image_pulls_queued",
		"podlapse_image_pulls_unpacking")
	if err != nil {
		t.Error(err)
	}
}

func TestLivePullMetrics(t *testing.T) {
	want := `# HELP podlapse_image_pulls_active Image pulls that are downloading content. Includes the ` +
		`kubelet's pulls and the pulls of all other clients of the container runtime. The label "registry" contains ` +
		`the host in the image reference. The content can come from a mirror of this host.
# TYPE podlapse_image_pulls_active gauge
podlapse_image_pulls_active{registry="docker.io"} 0
podlapse_image_pulls_active{registry="ghcr.io"} 1
podlapse_image_pulls_active{registry="r.example:5000"} 1
# HELP podlapse_image_pulls_active_bytes Bytes received so far by image pulls in progress ` +
		`(see podlapse_image_pulls_active). ` +
		`The label "registry" contains the host in the image reference. The content can come from a mirror of this host.
# TYPE podlapse_image_pulls_active_bytes gauge
podlapse_image_pulls_active_bytes{registry="docker.io"} 0
podlapse_image_pulls_active_bytes{registry="ghcr.io"} 7
podlapse_image_pulls_active_bytes{registry="r.example:5000"} 30
# HELP podlapse_image_pulls_oldest_age_seconds Age of the oldest image pull in progress. The age is the time ` +
		`since the kubelet requested the pull. If this time is unknown, the age is the time since the download ` +
		`started. The label "registry" contains the host in the image reference. The content can come from a mirror ` +
		`of this host.
# TYPE podlapse_image_pulls_oldest_age_seconds gauge
podlapse_image_pulls_oldest_age_seconds{registry="docker.io"} 5
podlapse_image_pulls_oldest_age_seconds{registry="ghcr.io"} 1
podlapse_image_pulls_oldest_age_seconds{registry="r.example:5000"} 6
`
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(NewCollector(busy))
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "podlapse_image_pulls_active",
		"podlapse_image_pulls_active_bytes", "podlapse_image_pulls_oldest_age_seconds"); err != nil {
		t.Error(err)
	}
}
