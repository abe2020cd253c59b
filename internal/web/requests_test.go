package web

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/podlapse/podlapse/internal/startuptest"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// TestUnusualRequests sends requests that HTTP allows and that clients rarely send. Each error response must be JSON
// with a reason.
func TestUnusualRequests(t *testing.T) {
	server := httptest.NewServer(handlerOf((&fake{timelines: startUps(0, 3)}).config()))
	defer server.Close()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for name, test := range map[string]struct {
		method, target, accept string
		status                 int
		want                   string
	}{
		"a slash at the end":         {"GET", "/api/v1/pods/", "", 404, "no such path: GET / lists all paths"},
		"a slash after a namespace":  {"GET", "/api/v1/pods/shop/", "", 404, "no such path"},
		"a namespace without a name": {"GET", "/api/v1/pods/shop", "", 404, "no such path"},
		"a path in upper case":       {"GET", "/API/v1/pods", "", 404, "no such path"},
		"two slashes":                {"GET", "/api/v1/pods//web-0", "", 404, "no such path"},
		"an encoded slash":           {"GET", "/api/v1/pods/shop/a%2Fb", "", 404, "no pod shop/a/b is known"},
		"an encoded slash in a kind": {"GET", "/api/v1/workloads/shop/a%2Fb/c", "", 404, "no start-up of a/b shop/c"},
		"invalid UTF-8 in a name":    {"GET", "/api/v1/pods/shop/%ff", "", 404, "no pod shop/\\ufffd is known"},
		"a trace of an unknown pod":  {"GET", "/api/v1/pods/shop/x/trace", "", 404, "no pod shop/x is known"},
		"a media type of Kubernetes": {"GET", "/api/v1/pods", "application/vnd.kubernetes.protobuf", 200,
			`{"items":[`},
		"only HTML":                   {"GET", "/api/v1/pods?limit=1", "text/html", 200, `{"items":[`},
		"a stream in a wrong type":    {"HEAD", "/api/v1/stream", "application/json", 200, ""},
		"HEAD of an unknown path":     {"HEAD", "/api/v1/none", "", 404, ""},
		"HEAD of an unknown workload": {"HEAD", "/api/v1/workloads/a/b/c", "", 404, ""},
		"a preflight request":         {"OPTIONS", "/api/v1/pods", "", 405, "only the methods GET and HEAD"},
		"a deletion":                  {"DELETE", "/api/v1/pods/shop/web-0", "", 405, "only the methods GET and HEAD"},
		"an unknown method":           {"QUERY", "/api/v1/pods", "", 405, "only the methods GET and HEAD"},
		"an empty parameter":          {"GET", "/api/v1/pods?limit=1&name=", "", 200, `{"items":[{`},
	} {
		request, err := http.NewRequestWithContext(t.Context(), test.method, server.URL+test.target, nil)
		if err != nil {
			t.Fatal(err)
		}
		if test.accept != "" {
			request.Header.Set("Accept", test.accept)
		}
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		if response.StatusCode != test.status || err != nil || !strings.Contains(string(body), test.want) {
			t.Errorf("%s: %d %.200s, %v, want %d %s", name, response.StatusCode, body, err, test.status, test.want)
		}
		var refused problem
		isError := test.status >= http.StatusBadRequest && test.method != http.MethodHead
		if isError && (json.Unmarshal(body, &refused) != nil || refused.Error == "" || refused.Reason == "") {
			t.Errorf("%s: the error is %s", name, body)
		}
		if allow := response.Header.Get("Allow"); (allow == "GET, HEAD") != (test.status == 405) {
			t.Errorf("%s: Allow is %q", name, allow)
		}
	}
}

// TestUnknownRegistry selects the pulls whose registry is unknown by the name that the list of registries has for it.
func TestUnknownRegistry(t *testing.T) {
	pod := startuptest.New(1)
	pod.Pulls = []timeline.Pull{{Container: "c", Outcome: imagepull.OutcomeFailed, Failure: "not_found",
		FinishedAt: pod.CreatedAt}}
	f := &fake{timelines: []timeline.Timeline{pod, startuptest.New(2)}}
	got := decode[api.PullList](t, f.ask(t, http.MethodGet, "/api/v1/pulls?registry="+imagepull.UnknownRegistry))
	if len(got.Recent) != 1 || got.Recent[0].UID != pod.UID {
		t.Errorf("%+v", got)
	}
}
