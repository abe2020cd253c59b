package kubeclient

import (
	"cmp"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// Traffic counts the agent's requests to the API server and the size of the responses. It is safe
// for concurrent use.
type Traffic struct {
	mu sync.Mutex
	of map[trafficKey]*TrafficCount // few entries: resources and verbs are closed sets
}

type trafficKey struct{ resource, verb string }

// TrafficCount is the traffic of one verb on one resource so far.
type TrafficCount struct {
	Resource string // pods, events, nodes, tokenreviews or subjectaccessreviews; other for anything else
	Verb     string // get, list, watch, create or patch
	Requests uint64
	Failed   uint64 // of Requests, those without a response or without a successful one
	Bytes    uint64 // of the bodies, as received, so compressed if the API server compresses
}

// NewTraffic starts at zero. It lists what an agent requests in any case from the start.
func NewTraffic() *Traffic {
	t := &Traffic{of: map[trafficKey]*TrafficCount{}}
	for _, key := range []trafficKey{{"pods", "list"}, {"pods", "watch"}} {
		t.add(key, func(*TrafficCount) {})
	}
	return t
}

// Counts lists the traffic by resource and verb.
func (t *Traffic) Counts() []TrafficCount {
	t.mu.Lock()
	defer t.mu.Unlock()
	counts := make([]TrafficCount, 0, len(t.of))
	for _, c := range t.of {
		counts = append(counts, *c)
	}
	slices.SortFunc(counts, func(a, b TrafficCount) int {
		return cmp.Or(cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Verb, b.Verb))
	})
	return counts
}

// count wraps a transport.
func (t *Traffic) count(next http.RoundTripper) http.RoundTripper {
	return roundTrip(func(request *http.Request) (*http.Response, error) {
		key := trafficOf(request)
		response, err := next.RoundTrip(request)
		failed := err != nil || response.StatusCode >= http.StatusBadRequest
		t.add(key, func(c *TrafficCount) {
			c.Requests++
			if failed {
				c.Failed++
			}
		})
		if err == nil {
			response.Body = countedBody{response.Body, func(n int) {
				t.add(key, func(c *TrafficCount) { c.Bytes += uint64(n) })
			}}
		}
		return response, err
	})
}

func (t *Traffic) add(key trafficKey, change func(*TrafficCount)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of[key] == nil {
		t.of[key] = &TrafficCount{Resource: key.resource, Verb: key.verb}
	}
	change(t.of[key])
}

// trafficOf parses the path of a request for a resource:
// /api/v1/[namespaces/NAMESPACE/]RESOURCE[/NAME], or /apis/GROUP/v1/….
func trafficOf(request *http.Request) trafficKey {
	parts := strings.Split(strings.Trim(request.URL.Path, "/"), "/")
	if i := slices.Index(parts, "v1"); i >= 0 {
		parts = parts[i+1:]
	}
	if len(parts) > 2 && parts[0] == "namespaces" {
		parts = parts[2:]
	}
	key := trafficKey{"other", "get"}
	if len(parts) > 0 {
		switch parts[0] {
		case "pods", "events", "nodes", "tokenreviews", "subjectaccessreviews":
			key.resource = parts[0]
		}
	}
	switch {
	case request.Method == http.MethodPost:
		key.verb = "create"
	case request.Method == http.MethodPatch:
		key.verb = "patch"
	case request.URL.Query().Get("watch") == "true" || request.URL.Query().Get("watch") == "1":
		key.verb = "watch"
	case len(parts) == 1:
		key.verb = "list"
	}
	return key
}

// countedBody reports how many bytes each read returned.
type countedBody struct {
	io.ReadCloser
	read func(n int)
}

// Read implements io.Reader.
func (b countedBody) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	if n > 0 {
		b.read(n)
	}
	return n, err
}
