package export

import "github.com/prometheus/client_golang/prometheus"

// Build says which agent this is.
type Build struct {
	Version   string // as released, or how Go names the module's version
	Revision  string // commit; with "-dirty" when the tree had changes
	GoVersion string // of the compiler
}

// NewBuildInfo makes the collector of podlapse_build_info, whose value is always 1.
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
