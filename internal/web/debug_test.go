package web

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestObservationsAreServedOverLoopbackOnly(t *testing.T) {
	const kept = `{"kind":"header","version":1}` + "\n"
	const local = "127.0.0.1:9717"
	for _, test := range []struct {
		remote, local, host string
		header              string // header that a proxy set
		status              int
	}{
		{"127.0.0.1:4000", local, "127.0.0.1:9717", "", http.StatusOK},
		{"127.0.0.9:4000", local, "127.0.0.9", "", http.StatusOK},
		{"127.0.0.1:4000", local, "LocalHost:10000", "", http.StatusOK},
		{"[::1]:4000", "[::1]:9717", "[::1]:9717", "", http.StatusOK},
		{"[::1]:4000", "[::1]:9717", "[::1]", "", http.StatusOK},
		{"[::ffff:127.0.0.1]:4000", "[::ffff:127.0.0.1]:9717", "[::ffff:127.0.0.1]:9717", "", http.StatusOK},
		{"10.0.0.7:4000", "10.0.0.8:9717", "localhost", "", http.StatusForbidden},
		{"127.0.0.1:4000", "10.0.0.8:9717", "localhost", "", http.StatusForbidden},
		{"10.0.0.7:4000", local, "localhost", "", http.StatusForbidden}, // from outside, routed to loopback
		{"[fe80::1%eth0]:4000", "[fe80::2%eth0]:9717", "localhost", "", http.StatusForbidden},
		{"", local, "localhost", "", http.StatusForbidden},
		{"127.0.0.1:4000", "", "localhost", "", http.StatusForbidden},
		{"localhost:4000", local, "localhost", "", http.StatusForbidden}, // not an IP address
		// A page of another site makes the browser connect to the agent, under the host name of that site.
		{"127.0.0.1:4000", local, "evil.example", "", http.StatusForbidden},
		{"127.0.0.1:4000", local, "evil.example:9717", "", http.StatusForbidden},
		{"127.0.0.1:4000", local, "localhost.evil.example", "", http.StatusForbidden},
		{"127.0.0.1:4000", local, "127.0.0.1.evil.example", "", http.StatusForbidden},
		{"127.0.0.1:4000", local, "10.0.0.8:9717", "", http.StatusForbidden},
		{"127.0.0.1:4000", local, "", "", http.StatusForbidden},
		// Behind a proxy in the same pod, every request comes from loopback.
		{"127.0.0.1:4000", local, "localhost", "X-Forwarded-For", http.StatusForbidden},
		{"127.0.0.1:4000", local, "localhost", "X-Forwarded-Host", http.StatusForbidden},
		{"127.0.0.1:4000", local, "localhost", "Forwarded", http.StatusForbidden},
		{"127.0.0.1:4000", local, "localhost", "Via", http.StatusForbidden},
		// A header does not make a request local.
		{"10.0.0.7:4000", "10.0.0.8:9717", "localhost", "X-Forwarded-For", http.StatusForbidden},
	} {
		config := (&fake{}).config()
		config.Observations = bytes.NewBufferString(kept)
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/debug/observations", nil)
		request.RemoteAddr, request.Host = test.remote, test.host
		if test.header != "" {
			request.Header.Set(test.header, "127.0.0.1")
		}
		if test.local != "" {
			request = request.WithContext(context.WithValue(request.Context(), http.LocalAddrContextKey,
				address(test.local)))
		}
		response := httptest.NewRecorder()
		handlerOf(config).ServeHTTP(response, request)
		if response.Code != test.status || (response.Body.String() == kept) != (test.status == http.StatusOK) {
			t.Errorf("%+v: %d %s", test, response.Code, response.Body)
		}
		if test.status != http.StatusForbidden {
			continue
		}
		reason := decode[problem](t, response).Reason
		if !strings.Contains(reason, "port-forward") && !strings.Contains(reason, "localhost") {
			t.Errorf("%q has no remedy", reason)
		}
	}
}

// address is a net.Addr with any text.
type address string

func (a address) Network() string { return "tcp" }
func (a address) String() string  { return string(a) }

var _ net.Addr = address("")

func TestObservationsDisabled(t *testing.T) {
	request := httptest.NewRequestWithContext(context.WithValue(t.Context(), http.LocalAddrContextKey,
		address("127.0.0.1:1")),
		http.MethodGet, "/debug/observations", nil)
	request.RemoteAddr, request.Host = "127.0.0.1:2", "localhost"
	response := httptest.NewRecorder()
	handlerOf((&fake{}).config()).ServeHTTP(response, request)
	if response.Code != http.StatusNotFound ||
		!strings.Contains(decode[problem](t, response).Reason, "--debug-observations") {
		t.Errorf("%d %s", response.Code, response.Body)
	}
}
