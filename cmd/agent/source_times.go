package main

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// sourceTimes exports the time of each source's latest observation.
type sourceTimes struct{ observed *prometheus.GaugeVec }

func newSourceTimes(registerer prometheus.Registerer) sourceTimes {
	observed := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "podlapse_source_last_observation_timestamp_seconds",
		Help: "Time at which the agent received the latest observation from a source (pod watch, Event watches or " +
			"container runtime), in seconds since the Unix epoch on this node's clock. Absent before the first " +
			"observation from the source. While no pod changes, an old value is normal.",
	}, []string{"source"})
	registerer.MustRegister(observed)
	return sourceTimes{observed}
}

// record records the time of an observation. record ignores observations without a source: see sourceOf. Any goroutine
// can call record.
func (s sourceTimes) record(o timeline.Observation, now time.Time) {
	if source := sourceOf(o); source != "" {
		s.observed.WithLabelValues(string(source)).Set(time.Duration(now.UnixNano()).Seconds())
	}
}

// sourceOf returns the source of an observation about a pod. The result is empty for observations that concern no pod,
// such as the API server's clock. The result is also empty for EventsLost, because EventsLost only means that no Event
// watch covers a pod.
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
