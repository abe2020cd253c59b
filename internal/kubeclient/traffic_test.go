package kubeclient

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
)

func TestTraffic(t *testing.T) {
	traffic := NewTraffic()
	got := traffic.Counts()
	if !reflect.DeepEqual(got, []TrafficCount{{Resource: "pods", Verb: "list"}, {Resource: "pods", Verb: "watch"}}) {
		t.Errorf("begins with %+v", got)
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
	want := []TrafficCount{
		{"events", "watch", 1, 0, 5}, {"other", "get", 1, 0, 5}, {"pods", "get", 1, 0, 5}, {"pods", "list", 2, 1, 5},
		{"pods", "patch", 1, 0, 5}, {"pods", "watch", 2, 1, 10},
		{"tokenreviews", "create", 1, 0, 5},
	}
	if got := traffic.Counts(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}
