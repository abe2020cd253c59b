package main

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/podlapse/podlapse/internal/health"
	"github.com/podlapse/podlapse/pkg/export"
	"github.com/podlapse/podlapse/pkg/podwatch"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// sourcesOf leaves out the parts that observe nothing.
func sourcesOf(statuses []health.Status) []health.Status {
	others := []string{
		partRecording, partState, partTraces, partMetrics, partWebAuth, partAnnotations, partPodCache, partProbes,
	}
	return slices.DeleteFunc(statuses, func(s health.Status) bool { return slices.Contains(others, s.Part) })
}

// sourceTimes holds when each source last observed something, in Unix nanoseconds; zero is never.
type sourceTimes struct{ podWatch, eventWatch, cri atomic.Int64 }

// note may be called from any goroutine. It ignores readings of the API server's clock, which say nothing about a pod.
func (s *sourceTimes) note(o timeline.Observation, now time.Time) {
	if at := s.at(sourceOf(o)); at != nil {
		at.Store(now.UnixNano())
	}
}

func (s *sourceTimes) at(source timeline.Source) *atomic.Int64 {
	switch source {
	case timeline.SourcePodWatch:
		return &s.podWatch
	case timeline.SourceEventWatch:
		return &s.eventWatch
	case timeline.SourceCRI:
		return &s.cri
	}
	return nil
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

// of adds to each source's status when it last observed something.
func (s *sourceTimes) of(statuses []health.Status) []export.Source {
	sources := make([]export.Source, len(statuses))
	for i, status := range statuses {
		sources[i] = export.Source{Name: status.Part, Up: status.Up, Recoveries: status.Recoveries}
		if at := s.at(timeline.Source(status.Part)); at != nil && at.Load() != 0 {
			sources[i].ObservedAt = time.Unix(0, at.Load())
		}
	}
	return sources
}

// countRestarts lists every kind and reason for export.
func countRestarts(counts map[podwatch.RestartKey]uint64) []export.Restarts {
	var all []export.Restarts
	for _, kind := range podwatch.RestartedKinds() {
		for _, reason := range podwatch.RestartReasons() {
			count := counts[podwatch.RestartKey{Kind: kind, Reason: reason}]
			all = append(all, export.Restarts{Kind: string(kind), Reason: string(reason), Count: count})
		}
	}
	return all
}
