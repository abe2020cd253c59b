package main

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// sourceTimes exports when each source last observed something.
type sourceTimes struct{ observed *prometheus.GaugeVec }

func newSourceTimes(registerer prometheus.Registerer) sourceTimes {
	observed := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "podlapse_source_last_observation_timestamp_seconds",
		Help: "Time of the latest observation of a source, in seconds since the Unix epoch by this node's clock. " +
			"Absent before the first observation. Does not advance while no pod changes.",
	}, []string{"source"})
	registerer.MustRegister(observed)
	return sourceTimes{observed}
}

// note may be called from any goroutine. It ignores readings of the API server's clock, which say nothing about a pod.
func (s sourceTimes) note(o timeline.Observation, now time.Time) {
	if source := sourceOf(o); source != "" {
		s.observed.WithLabelValues(string(source)).Set(time.Duration(now.UnixNano()).Seconds())
	}
}

// sourceOf returns the source of an observation; empty if it is not on the health board.
func sourceOf(o timeline.Observation) timeline.Source {
	switch o.(type) {
	case timeline.PodSeen, timeline.PodGone:
		return timeline.SourcePodWatch
	case timeline.EventSeen, timeline.EventsWatched:
		return timeline.SourceEventWatch
	case timeline.RuntimeSeen:
		return timeline.SourceCRI
	}
	return ""
}
