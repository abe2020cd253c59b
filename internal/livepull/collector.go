package livepull

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/podlapse/podlapse/internal/registrylabel"
	"github.com/podlapse/podlapse/pkg/api"
)

// At each scrape, collector collects the metrics of the pulls in progress.
type collector struct {
	now                                                          func() Snapshot
	active, queued, unpacking, bytes, oldest, failing, workloads *prometheus.Desc
}

// NewCollector returns a collector for the metrics of the pulls in progress. The collector calls the function "now" at
// each scrape.
func NewCollector(now func() Snapshot) prometheus.Collector {
	registry := []string{"registry"}
	return &collector{
		now: now,
		active: prometheus.NewDesc("podlapse_image_pulls_active",
			"Image pulls that are downloading content. Includes the kubelet's pulls and the pulls of all other "+
				"clients of the container runtime."+registrylabel.Help,
			registry, nil),
		queued: prometheus.NewDesc("podlapse_image_pulls_queued",
			"Image pulls that still wait for their first content. The kubelet has decided to pull the image, and "+
				"the pull waits in the node's pull queue or for the registry's first response. If the container "+
				"runtime does not report the progress of pulls, this metric counts "+
				"all pulls in progress."+registrylabel.Help, registry, nil),
		unpacking: prometheus.NewDesc("podlapse_image_pulls_unpacking",
			"Image pulls that have received all content. The runtime is unpacking this content, so these pulls wait "+
				"for the disk, not for the registry.", nil, nil),
		bytes: prometheus.NewDesc("podlapse_image_pulls_active_bytes",
			"Bytes received so far by image pulls in progress (see podlapse_image_pulls_active)."+
				registrylabel.Help, registry, nil),
		oldest: prometheus.NewDesc("podlapse_image_pulls_oldest_age_seconds",
			"Age of the oldest image pull in progress. The age is the time since the kubelet requested the pull. If "+
				"this time is unknown, the age is the time since the download started."+
				registrylabel.Help, registry, nil),
		failing: prometheus.NewDesc("podlapse_image_pulls_failing",
			"Failing image pulls of starting pods, by the reason in the runtime's error. A pull is failing if its "+
				"latest completed attempt failed. The pull still counts while the next attempt is in progress."+
				registrylabel.ReasonHelp+registrylabel.Help,
			[]string{"registry", "reason"}, nil),
		workloads: prometheus.NewDesc("podlapse_image_pulls_failing_workloads",
			"Groups of workloads with a failing image pull. The value is always 1. The agent assigns each workload "+
				"to one of 64 groups by a hash of the workload's namespace, kind and name. All agents use the same "+
				"hash function, so the number of different groups in a cluster is the minimum number of affected "+
				"workloads. In this metric, each pod without an owner is a workload of its own."+
				registrylabel.ReasonHelp+registrylabel.Help,
			[]string{"registry", "reason", "group"}, nil),
	}
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(descs chan<- *prometheus.Desc) {
	descriptions := []*prometheus.Desc{
		c.active, c.queued, c.unpacking, c.bytes, c.oldest, c.failing, c.workloads,
	}
	for _, desc := range descriptions {
		descs <- desc
	}
}

// Collect implements prometheus.Collector. Several goroutines can call Collect at the same time.
func (c *collector) Collect(metrics chan<- prometheus.Metric) {
	type sums struct {
		active, queued, bytes int64
		oldest                float64
	}
	now := c.now()
	records, failed := now.Records(), failingNow(now.Starting)
	pulls := make([]registrylabel.Pull, 0, len(records)+len(failed))
	for _, r := range records {
		pulls = append(pulls, registrylabel.Pull{Namespace: r.Namespace, Registry: r.Registry})
	}
	for _, p := range failed {
		pulls = append(pulls, registrylabel.Pull{Namespace: p.namespace, Registry: p.Registry})
	}
	labelOf := registrylabel.OfMoment(pulls)
	of, unpacking := map[string]*sums{}, 0
	for _, record := range records {
		label := labelOf(record.Registry)
		if of[label] == nil {
			of[label] = &sums{}
		}
		s := of[label]
		// If pulls of different images match one download, the state of these pulls is empty. The switch does not count
		// such pulls.
		switch {
		case record.State == api.PullStatePulling:
			s.active++
			s.bytes += record.DoneBytes
		case record.State == api.PullStateUnpacking:
			unpacking++
		case record.State == api.PullStateQueued, now.Downloads == nil:
			s.queued++
		}
		s.oldest = max(s.oldest, record.Age.Duration().Seconds())
	}
	metrics <- prometheus.MustNewConstMetric(c.unpacking, prometheus.GaugeValue, float64(unpacking))
	for label, s := range of {
		gauge := func(desc *prometheus.Desc, value float64) {
			metrics <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, label)
		}
		gauge(c.active, float64(s.active))
		gauge(c.queued, float64(s.queued))
		gauge(c.bytes, float64(s.bytes))
		gauge(c.oldest, s.oldest)
	}
	counts, groups := countFailing(failed, labelOf)
	for pull, n := range counts {
		metrics <- prometheus.MustNewConstMetric(c.failing, prometheus.GaugeValue, float64(n), pull.registry,
			string(pull.why))
	}
	for workloads := range groups {
		metrics <- prometheus.MustNewConstMetric(c.workloads, prometheus.GaugeValue, 1, workloads.registry,
			string(workloads.why), strconv.Itoa(workloads.bucket))
	}
}
