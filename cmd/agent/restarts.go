package main

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/podlapse/podlapse/pkg/podwatch"
)

// registerRestarts registers a counter of container restarts for each kind and reason. What counts lacks is zero.
func registerRestarts(registerer prometheus.Registerer, counts func() map[podwatch.RestartKey]uint64) {
	for _, kind := range podwatch.RestartedKinds() {
		for _, reason := range podwatch.RestartReasons() {
			key := podwatch.RestartKey{Kind: kind, Reason: reason}
			registerer.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
				Name: "podlapse_container_restarts_total",
				Help: "Container restarts of this node's pods since the agent first saw the pod, during start-up " +
					"and after, by kind (init, sidecar, main) and by the reason why the previous run ended, from " +
					"the pod's status: signal is a crash or a kill by the kubelet, for example after a failed " +
					"probe; unknown is a run whose end was not seen.",
				ConstLabels: prometheus.Labels{"kind": string(kind), "reason": string(reason)},
			}, func() float64 { return float64(counts()[key]) }))
		}
	}
}
