package web

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// TestAccess requests every path with every kind of Authorization header.
func TestAccess(t *testing.T) {
	config := (&fake{}).config()
	config.Access = func(_ context.Context, _, token, path string) (Verdict, error) {
		switch token {
		case "good":
			return Allowed, nil
		case "metrics-only":
			if path == "/metrics" {
				return Allowed, nil
			}
			return Denied, nil
		case "no-api-server":
			return "", errors.New("connection refused")
		}
		return Unknown, nil
	}
	handler := handlerOf(config)
	for _, test := range []struct {
		authorization []string
		path          string
		status        int
		word          string // part of the response's body
	}{
		{nil, "/metrics", http.StatusUnauthorized, "unauthenticated"},
		{nil, "/api/v1/pods", http.StatusUnauthorized, "unauthenticated"},
		{nil, "/api/v1/pods/a/b", http.StatusUnauthorized, "unauthenticated"},
		{nil, "/api/v1/pulls", http.StatusUnauthorized, "unauthenticated"},
		{nil, "/debug/observations", http.StatusUnauthorized, "unauthenticated"},
		{nil, "/livez", http.StatusOK, ""},
		{nil, "/healthz", http.StatusOK, ""},
		{nil, "/readyz", http.StatusServiceUnavailable, ""}, // no part is up
		{nil, "/", http.StatusOK, ""},
		{[]string{"Bearer good"}, "/metrics", http.StatusOK, ""},
		{[]string{"bearer  good "}, "/api/v1/pods", http.StatusOK, ""},
		{[]string{"Bearer good"}, "/debug/observations", http.StatusForbidden, "forbidden"}, // not over loopback
		{[]string{"Bearer metrics-only"}, "/metrics", http.StatusOK, ""},
		{[]string{"Bearer metrics-only"}, "/api/v1/pods", http.StatusForbidden, "forbidden"},
		{[]string{"Bearer expired"}, "/metrics", http.StatusUnauthorized, "unauthenticated"},
		{[]string{"Bearer no-api-server"}, "/metrics", http.StatusServiceUnavailable, "unavailable"},
		{[]string{"Bearer no-api-server"}, "/livez", http.StatusOK, ""},
		{[]string{""}, "/metrics", http.StatusUnauthorized, "unauthenticated"},
		{[]string{"Bearer"}, "/metrics", http.StatusUnauthorized, "unauthenticated"},
		{[]string{"Bearer "}, "/metrics", http.StatusUnauthorized, "unauthenticated"},
		{[]string{"good"}, "/metrics", http.StatusUnauthorized, "unauthenticated"},
		{[]string{"Basic good"}, "/metrics", http.StatusUnauthorized, "unauthenticated"},
		{[]string{"Bearer good evil"}, "/metrics", http.StatusUnauthorized, "unauthenticated"},
		{[]string{"Bearer good, Bearer evil"}, "/metrics", http.StatusUnauthorized, "unauthenticated"},
		{[]string{"Bearer good", "Bearer evil"}, "/metrics", http.StatusUnauthorized, "unauthenticated"},
	} {
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, test.path, nil)
		request.Header["Authorization"] = test.authorization
		response := httptest.NewRecorder()
		handler.ServeHTTP(response, request)
		if response.Code != test.status {
			t.Errorf("%q for %s: %d %s, want %d", test.authorization, test.path, response.Code, response.Body,
				test.status)
			continue
		}
		if test.word != "" && decode[problem](t, response).Error != test.word {
			t.Errorf("%q for %s: %s, want %s", test.authorization, test.path, response.Body, test.word)
		}
		challenge := response.Header().Get("WWW-Authenticate")
		if strings.HasPrefix(challenge, "Bearer") != (test.status == http.StatusUnauthorized) {
			t.Errorf("%q for %s: challenge %q", test.authorization, test.path, challenge)
		}
		if retry := response.Header().Get("Retry-After"); (retry != "") != (test.word == "unavailable") {
			t.Errorf("%q for %s: retry after %q", test.authorization, test.path, retry)
		}
	}
}

// addresses returns every path of the server, for one pod.
func addresses(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, pattern := range patterns(t) {
		all = append(all, strings.NewReplacer("{$}", "", "{namespace}", "a", "{name}", "b").Replace(pattern))
	}
	if len(all) < 15 {
		t.Fatalf("only %q found", all)
	}
	return all
}

// TestOpenPaths lists the open paths. Every other path requires a token.
func TestOpenPaths(t *testing.T) {
	open := []string{"/", "/livez", "/healthz", "/readyz"}
	f := &fake{}
	config := f.config()
	config.Access = func(context.Context, string, string, string) (Verdict, error) { return Denied, nil }
	config.Timelines = func(context.Context) ([]timeline.Timeline, error) {
		t.Error("an open path names pods")
		return nil, nil
	}
	handler := handlerOf(config)
	for _, path := range addresses(t) {
		for authorization, want := range map[string]int{"": http.StatusUnauthorized, "Bearer x": http.StatusForbidden} {
			request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
			request.Header.Set("Authorization", authorization)
			response := httptest.NewRecorder()
			handler.ServeHTTP(response, request)
			if got := response.Code == want; got == slices.Contains(open, path) {
				t.Errorf("%s with %q: %d", path, authorization, response.Code)
			}
		}
	}
}

// TestEveryResponseHasTheHeaders checks the security headers of all responses, including refusals and responses of
// promhttp.
func TestEveryResponseHasTheHeaders(t *testing.T) {
	for _, path := range append(addresses(t), "/none") {
		for _, method := range []string{http.MethodHead, http.MethodGet, http.MethodPost} {
			if path == "/api/v1/stream" && method == http.MethodGet {
				continue // the stream never ends
			}
			header := (&fake{}).ask(t, method, path).Header()
			cache := "no-store"
			if header.Get("ETag") != "" {
				cache = "private, no-cache" // clients revalidate the response before each use
			}
			for name, want := range map[string]string{
				"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer",
				"Cache-Control": cache, "Cross-Origin-Resource-Policy": "same-origin",
				"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; " +
					"form-action 'none'",
			} {
				if got := header.Get(name); got != want {
					t.Errorf("%s %s: %s is %q", method, path, name, got)
				}
			}
		}
	}
}
