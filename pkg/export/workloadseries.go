package export

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// MaxWorkloads is the maximum number of workloads with their own series. One workload has at most two series, plus one
// series for each value of the label "cause".
const MaxWorkloads = 50

// freeAfter is the time after which an idle workload can lose its series to make room for another workload.
const freeAfter = time.Hour

// otherWorkloads is the label value of all workloads without their own series.
const otherWorkloads = "other"

// WorkloadSeries counts the settled start-ups of each workload. New workloads get their own series until the limit is
// reached. To make room for a later workload, WorkloadSeries then deletes the series of a workload that has had no
// start-up for an hour. If there is no such workload, the later workload counts as the workload "other". WorkloadSeries
// is not safe for concurrent use.
type WorkloadSeries struct {
	limit    int
	latest   map[workload]time.Time // time of the latest start-up of each workload with its own series
	ended    *prometheus.CounterVec
	failures *prometheus.CounterVec
	seconds  *prometheus.CounterVec
}

// workload contains the values of the labels of one workload.
type workload struct{ namespace, kind, name string }

// NewWorkloadSeries creates and registers the metrics of workloads. The argument "limit" is the maximum number of
// workloads with their own series, from 1 to MaxWorkloads. NewWorkloadSeries panics if the metrics are already
// registered.
func NewWorkloadSeries(registerer prometheus.Registerer, limit int) *WorkloadSeries {
	labels := []string{"namespace", "workload_kind", "workload"}
	const other = " The workload \"other\" contains all workloads above the limit of --metrics-workloads."
	s := &WorkloadSeries{
		limit: limit, latest: map[workload]time.Time{},
		ended: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "podlapse_workload_startups_total",
			Help: "Start-ups of the pods of one workload. Covers the same start-ups as " +
				"podlapse_pod_startup_duration_seconds." + other,
		}, labels),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "podlapse_workload_startup_failures_total",
			Help: "Unsuccessful start-ups of the pods of one workload: the pod failed, was deleted before it was " +
				"ready, or was not ready after an hour." + other,
		}, labels),
		seconds: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "podlapse_workload_startup_seconds_total",
			Help: "Total duration of the start-ups that podlapse_workload_startups_total counts, by cause. To " +
				"get the mean duration, divide the sum of this metric over all causes by " +
				"podlapse_workload_startups_total." + other,
		}, append(labels, "cause")),
	}
	registerer.MustRegister(s.ended, s.failures, s.seconds)
	return s
}

// Observe counts one settled start-up.
func (s *WorkloadSeries) Observe(t timeline.Timeline) {
	w := s.labelsOf(t)
	labels := []string{w.namespace, w.kind, w.name}
	if t.State != timeline.StateReady && t.State != timeline.StateSucceeded {
		s.failures.WithLabelValues(labels...).Inc()
		return
	}
	if t.ClockWasSet() {
		return // the duration is unknown
	}
	s.ended.WithLabelValues(labels...).Inc()
	for _, span := range t.Phases {
		s.seconds.WithLabelValues(w.namespace, w.kind, w.name, string(span.Cause)).Add(span.Duration().Seconds())
	}
}

// labelsOf returns the labels of the pod's workload. All pods without an owner in one namespace count as one workload,
// which has the kind Pod and no name. If each of these pods were a workload of its own, many such pods would leave no
// series for other workloads.
func (s *WorkloadSeries) labelsOf(t timeline.Timeline) workload {
	w := workload{labelValue(t.Namespace, maxName), labelValue(t.Owner.Kind, maxKind),
		labelValue(t.Owner.Name, maxName)}
	if t.Owner == (timeline.Owner{}) {
		w.kind = "Pod"
	}
	latest, named := s.latest[w]
	if !named && len(s.latest) >= s.limit && !s.dropIdle(t.SettledAt) {
		return workload{name: otherWorkloads}
	}
	if !named || t.SettledAt.After(latest) { // start-ups from before the agent's start can arrive in any order
		s.latest[w] = t.SettledAt
	}
	return w
}

// dropIdle deletes the series of the workload that has been idle for the longest time. If no workload has been idle for
// at least freeAfter, dropIdle deletes nothing and returns false.
func (s *WorkloadSeries) dropIdle(now time.Time) bool {
	var idle workload
	since := now
	for w, at := range s.latest {
		if at.Before(since) {
			idle, since = w, at
		}
	}
	if now.Sub(since) < freeAfter {
		return false
	}
	delete(s.latest, idle)
	series := prometheus.Labels{"namespace": idle.namespace, "workload_kind": idle.kind, "workload": idle.name}
	for _, counter := range []*prometheus.CounterVec{s.ended, s.failures, s.seconds} {
		counter.DeletePartialMatch(series)
	}
	return true
}
