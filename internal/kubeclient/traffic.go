package kubeclient

import (
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// Traffic has counters for the agent's requests to the API server and for the bytes of the responses. Traffic
// implements prometheus.Collector, and is safe for concurrent use.
type Traffic struct {
	requests, failed, bytes *prometheus.CounterVec
}

// NewTraffic returns a Traffic with all counts at zero. NewTraffic creates the series for lists and watches of pods,
// because every agent sends these requests.
func NewTraffic() *Traffic {
	vec := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "podlapse_apiserver_" + name, Help: help},
			[]string{"resource", "verb"})
	}
	t := &Traffic{
		requests: vec("requests_total",
			"Requests that the agent sent to the API server. A watch counts as one request."),
		failed: vec("request_failures_total",
			"Failed requests in podlapse_apiserver_requests_total. The API server responded with an error (status "+
				"400 or higher), or did not respond. Absent before the first failure."),
		bytes: vec("received_bytes_total",
			"Bytes in the API server's responses to the agent, without headers and after decompression. Includes "+
				"the bytes that open watches have received so far."),
	}
	for _, verb := range []string{"list", "watch"} {
		t.requests.WithLabelValues("pods", verb)
		t.bytes.WithLabelValues("pods", verb)
	}
	return t
}

// Describe implements prometheus.Collector.
func (t *Traffic) Describe(descs chan<- *prometheus.Desc) {
	for _, vec := range []*prometheus.CounterVec{t.requests, t.failed, t.bytes} {
		vec.Describe(descs)
	}
}

// Collect implements prometheus.Collector.
func (t *Traffic) Collect(metrics chan<- prometheus.Metric) {
	for _, vec := range []*prometheus.CounterVec{t.requests, t.failed, t.bytes} {
		vec.Collect(metrics)
	}
}

// count wraps a transport with a transport that counts requests.
func (t *Traffic) count(next http.RoundTripper) http.RoundTripper {
	return roundTrip(func(request *http.Request) (*http.Response, error) {
		resource, verb := labelsOf(request)
		response, err := next.RoundTrip(request)
		t.requests.WithLabelValues(resource, verb).Inc()
		bytes := t.bytes.WithLabelValues(resource, verb)
		if err != nil || response.StatusCode >= http.StatusBadRequest {
			t.failed.WithLabelValues(resource, verb).Inc()
		}
		if err == nil {
			response.Body = countedBody{response.Body, bytes}
		}
		return response, err
	})
}

// labelsOf returns the values of the labels "resource" and "verb" for a request. The resource is pods, events, nodes,
// tokenreviews, subjectaccessreviews or other. The verb is get, list, watch, create or patch. The path of the request
// has the form /api/v1/[namespaces/NAMESPACE/]RESOURCE[/NAME] or /apis/GROUP/v1/….
func labelsOf(request *http.Request) (resource, verb string) {
	parts := strings.Split(strings.Trim(request.URL.Path, "/"), "/")
	if i := slices.Index(parts, "v1"); i >= 0 {
		parts = parts[i+1:]
	}
	if len(parts) > 2 && parts[0] == "namespaces" {
		parts = parts[2:]
	}
	resource, verb = "other", "get"
	if len(parts) > 0 {
		switch parts[0] {
		case "pods", "events", "nodes", "tokenreviews", "subjectaccessreviews":
			resource = parts[0]
		}
	}
	switch {
	case request.Method == http.MethodPost:
		verb = "create"
	case request.Method == http.MethodPatch:
		verb = "patch"
	case request.URL.Query().Get("watch") == "true" || request.URL.Query().Get("watch") == "1":
		verb = "watch"
	case len(parts) == 1:
		verb = "list"
	}
	return resource, verb
}

// countedBody is a response body that counts the bytes that the agent reads.
type countedBody struct {
	io.ReadCloser
	bytes prometheus.Counter
}

// Read implements io.Reader.
func (b countedBody) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	b.bytes.Add(float64(n))
	return n, err
}
