package web

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/podlapse/podlapse/internal/health"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// asking is a request to the agent, over loopback unless it has another remote address.
type asking struct {
	path   string
	host   string
	remote string
	header map[string]string
}

func (a asking) response(t *testing.T, config Config) *httptest.ResponseRecorder {
	t.Helper()
	local := "127.0.0.1:9717"
	if a.remote != "" {
		local = "10.0.0.8:9717"
	} else {
		a.remote = "127.0.0.1:4000"
	}
	ctx := context.WithValue(t.Context(), http.LocalAddrContextKey, address(local))
	request := httptest.NewRequestWithContext(ctx, http.MethodGet, a.path, nil)
	request.RemoteAddr, request.Host = a.remote, a.host
	for name, value := range a.header {
		request.Header.Set(name, value)
	}
	response := httptest.NewRecorder()
	handlerOf(config).ServeHTTP(response, request)
	return response
}

// A browser sends the host name of another site if this name resolves to the address of a forwarded port (DNS
// rebinding).
func TestForeignHostNamesAreRefused(t *testing.T) {
	config := (&fake{}).config()
	config.Hosts = []string{"agent.example"}
	refused := map[string]bool{
		"evil.example": true, "evil.example:9717": true, "localhost.evil.example": true,
		"127.0.0.1.evil.example:9717": true,
		"[evil]":                      true, "agent.example.evil": true, ".": true,
		"localhost": false, "LocalHost:10000": false, "127.0.0.1:9717": false, "10.0.0.8": false, "[::1]:9717": false,
		"[fe80::1]":     false,
		"agent.example": false, "Agent.Example:9717": false, "": false, "localhost.": false,
	}
	for _, path := range append(addresses(t), "/none") {
		if strings.HasSuffix(path, "/stream") || strings.HasSuffix(path, "/{profile}") {
			continue // the response of the stream never ends, and profiles are slow
		}
		for host, want := range refused {
			response := asking{path: path, host: host}.response(t, config)
			got := response.Code == http.StatusForbidden && strings.Contains(response.Body.String(), "--web-hosts")
			if got != want {
				t.Errorf("%s as %q: %d %.100s", path, host, response.Code, response.Body)
			}
		}
		// Clients from elsewhere can use any host name that resolves to the pod, for example the name of a Service
		// or of the API server.
		elsewhere := asking{path: path, host: "api.example:6443", remote: "10.0.0.7:4000"}
		if response := elsewhere.response(t, config); strings.Contains(response.Body.String(), "--web-hosts") {
			t.Errorf("%s from elsewhere: %d %s", path, response.Code, response.Body)
		}
	}
}

// A browser marks requests that a page of another site sends. A link on another site can only open the agent's
// page.
func TestForeignOriginsAreRefused(t *testing.T) {
	for _, test := range []struct {
		path               string
		site, mode, target string
		refused            bool
	}{
		{"/api/v1/pods", "cross-site", "cors", "empty", true},
		{"/api/v1/pods", "cross-site", "no-cors", "script", true},
		{"/api/v1/pods", "cross-site", "navigate", "document", true},
		{"/metrics", "cross-site", "no-cors", "image", true},
		{"/livez", "cross-site", "no-cors", "image", true},
		{"/", "cross-site", "navigate", "document", false},
		{"/", "cross-site", "navigate", "iframe", true},
		{"/", "cross-site", "no-cors", "document", true},
		{"/", "none", "navigate", "document", false},
		{"/api/v1/pods", "same-origin", "cors", "empty", false},
		{"/api/v1/pods", "same-site", "cors", "empty", false},
		{"/api/v1/pods", "none", "navigate", "document", false},
		{"/api/v1/pods", "", "", "", false},
	} {
		header := map[string]string{"Accept": "text/html", "Sec-Fetch-Site": test.site, "Sec-Fetch-Mode": test.mode,
			"Sec-Fetch-Dest": test.target}
		response := asking{path: test.path, host: "localhost:9717", header: header}.response(t, (&fake{}).config())
		if (response.Code == http.StatusForbidden) != test.refused {
			t.Errorf("%+v: %d %s", test, response.Code, response.Body)
		}
	}
}

// TestPodNamesAreServedOverLoopbackOnly checks responses to other hosts if Config.Access is nil. These responses
// must not contain names of pods.
func TestPodNamesAreServedOverLoopbackOnly(t *testing.T) {
	open := []string{"/", "/livez", "/healthz", "/readyz", "/metrics"}
	f := &fake{timelines: []timeline.Timeline{{Namespace: "a", Name: "b", UID: "1", CreatedAt: firstStart}}}
	config := f.config()
	config.LocalOnly = true
	forwarded := map[string]string{"X-Forwarded-For": "127.0.0.1"}
	for _, path := range addresses(t) {
		if strings.HasSuffix(path, "/stream") {
			continue // the stream never ends if the path is open
		}
		if strings.HasPrefix(path, "/debug/") {
			continue // another test checks this path
		}
		want := []bool{true, slices.Contains(open, path), slices.Contains(open, path)}
		for i, ask := range []asking{
			{path: path, host: "localhost"}, {path: path, host: "10.0.0.8:9717", remote: "10.0.0.7:4000"},
			{path: path, host: "localhost", header: forwarded},
		} {
			response := ask.response(t, config)
			if (response.Code != http.StatusForbidden) != want[i] {
				t.Errorf("%+v: %d %.100s", ask, response.Code, response.Body)
			}
			if response.Code == http.StatusForbidden && decode[problem](t, response).Error != "not_local" {
				t.Errorf("%+v: %s", ask, response.Body)
			}
		}
	}
	page := asking{path: "/", host: "10.0.0.8:9717", remote: "10.0.0.7:4000",
		header: map[string]string{"Accept": "text/html"}}
	if response := page.response(t, config); response.Code != http.StatusForbidden {
		t.Errorf("the page: %d", response.Code)
	}
	stream := asking{path: "/api/v1/stream", host: "10.0.0.8:9717", remote: "10.0.0.7:4000"}
	if response := stream.response(t, config); response.Code != http.StatusForbidden {
		t.Errorf("the stream: %d", response.Code)
	}
}

// Details of readiness can name pods and failing addresses.
func TestReadinessDetailsNeedPermission(t *testing.T) {
	f := &fake{statuses: []health.Status{{Part: "pod_watch", Up: true, Detail: "watching"},
		{Part: "annotations", Detail: "patch pod shop/web-0: refused"}}}
	config := f.config()
	config.LocalOnly = true
	here := asking{path: "/readyz?verbose", host: "localhost"}.response(t, config).Body.String()
	there := asking{path: "/readyz?verbose", host: "10.0.0.8", remote: "10.0.0.7:4000"}.
		response(t, config).Body.String()
	if !strings.Contains(here, "shop/web-0") || strings.Contains(there, "shop/web-0") ||
		!strings.Contains(there, "[-]annotations down") {
		t.Errorf("here:\n%s\nthere:\n%s", here, there)
	}
}
