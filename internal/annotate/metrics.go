package annotate

import "github.com/prometheus/client_golang/prometheus"

// All possible results of a write request to the API server.
const (
	resultWritten  = "written"
	resultConflict = "conflict" // the pod changed before the write, or another pod now has the same name
	resultGone     = "gone"
	resultRefused  = "refused" // RBAC, admission or validation refused the request, or no policy limits the agent
	resultFailed   = "failed"  // no response, or a temporary failure
)

type metrics struct {
	requests *prometheus.CounterVec
}

func newMetrics(registerer prometheus.Registerer, waiting func() int) metrics {
	m := metrics{prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "podlapse_annotation_requests_total",
		Help: "Requests to annotate a pod, by result. If the result is \"conflict\" or \"failed\", the agent " +
			"retries the request within one minute. If the result is \"refused\", the agent retries the request " +
			"after five minutes. Only with --annotate.",
	}, []string{"result"})}
	for _, result := range []string{resultWritten, resultConflict, resultGone, resultRefused, resultFailed} {
		m.requests.WithLabelValues(result)
	}
	registerer.MustRegister(m.requests, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "podlapse_annotation_waiting_pods",
		Help: "Pods of this node that request annotations but do not have these annotations yet. Includes starting " +
			"pods. Only with --annotate.",
	}, func() float64 { return float64(waiting()) }))
	return m
}
