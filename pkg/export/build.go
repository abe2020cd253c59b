package export

import "github.com/prometheus/client_golang/prometheus"

// Build identifies the agent's version.
type Build struct {
	Version   string // as released, or the module version that Go reports
	Revision  string // commit; with "-dirty" if the tree had changes
	GoVersion string // of the compiler
}

// NewBuildInfo creates the collector of podlapse_build_info, whose value is always 1.
func NewBuildInfo(build Build) prometheus.Collector {
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "podlapse_build_info",
		Help: "Build information of the agent; always 1.",
		ConstLabels: prometheus.Labels{
			"version":   build.Version,
			"revision":  build.Revision,
			"goversion": build.GoVersion,
		},
	})
	info.Set(1)
	return info
}
