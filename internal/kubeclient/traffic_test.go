package kubeclient

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// scraped returns the numbers of requests, failures and bytes at a scrape, by resource and verb.
func scraped(t *testing.T, traffic *Traffic) map[string]string {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(traffic)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	if problems, err := testutil.GatherAndLint(registry); err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
	values := map[string]map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			key := m.GetLabel()[0].GetValue() + " " + m.GetLabel()[1].GetValue()
			if values[key] == nil {
				values[key] = map[string]float64{}
			}
			values[key][family.GetName()] = m.GetCounter().GetValue()
		}
	}
	counts := map[string]string{}
	for key, of := range values {
		counts[key] = fmt.Sprint(of["podlapse_apiserver_requests_total"],
			of["podlapse_apiserver_request_failures_total"], of["podlapse_apiserver_received_bytes_total"])
	}
	return counts
}

func TestTraffic(t *testing.T) {
	traffic := NewTraffic()
	if got := scraped(t, traffic); !maps.Equal(got, map[string]string{"pods list": "0 0 0", "pods watch": "0 0 0"}) {
		t.Errorf("begins with %q", got)
	}
	status := http.StatusOK
	var fail error
	transport := traffic.count(roundTrip(func(*http.Request) (*http.Response, error) {
		if fail != nil {
			return nil, fail
		}
		return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader("12345"))}, nil
	}))
	send := func(method, path string) {
		response, err := transport.RoundTrip(httptest.NewRequest(method, path, nil))
		if err != nil {
			return
		}
		_, _ = io.ReadAll(response.Body)
		_ = response.Body.Close()
	}
	ask := func(path string) { send(http.MethodGet, path) }
	send(http.MethodPost, "/apis/authentication.k8s.io/v1/tokenreviews")
	send(http.MethodPatch, "/api/v1/namespaces/shop/pods/web-0?fieldManager=podlapse")
	ask("/api/v1/pods?fieldSelector=spec.nodeName%3Dn")
	ask("/api/v1/pods?watch=true")
	ask("/api/v1/namespaces/shop/events?watch=true")
	ask("/api/v1/namespaces/shop/pods/web-0")
	ask("/api/v1/services/n")
	status = http.StatusGone
	ask("/api/v1/pods?watch=1")
	fail = errors.New("refused")
	ask("/api/v1/pods")
	want := map[string]string{
		"events watch": "1 0 5", "other get": "1 0 5", "pods get": "1 0 5", "pods list": "2 1 5", "pods patch": "1 0 5",
		"pods watch": "2 1 10", "tokenreviews create": "1 0 5",
	}
	if got := scraped(t, traffic); !maps.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
