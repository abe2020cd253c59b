package web

import (
	"bytes"
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestObservationsOverLoopbackOnly(t *testing.T) {
	const kept = `{"kind":"header","version":1}` + "\n"
	for _, test := range []struct {
		remote, local string
		status        int
	}{
		{"127.0.0.1:4000", "127.0.0.1:9717", http.StatusOK},
		{"127.0.0.9:4000", "127.0.0.1:9717", http.StatusOK},
		{"[::1]:4000", "[::1]:9717", http.StatusOK},
		{"[::ffff:127.0.0.1]:4000", "[::ffff:127.0.0.1]:9717", http.StatusOK},
		{"10.0.0.7:4000", "10.0.0.8:9717", http.StatusForbidden},
		{"127.0.0.1:4000", "10.0.0.8:9717", http.StatusForbidden},
		{"10.0.0.7:4000", "127.0.0.1:9717", http.StatusForbidden}, // routed to loopback from outside
		{"[fe80::1%eth0]:4000", "[fe80::2%eth0]:9717", http.StatusForbidden},
		{"", "127.0.0.1:9717", http.StatusForbidden},
		{"127.0.0.1:4000", "", http.StatusForbidden},
		{"localhost:4000", "127.0.0.1:9717", http.StatusForbidden}, // no address
	} {
		config := (&fake{}).config()
		config.Observations = bytes.NewBufferString(kept)
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/debug/observations", nil)
		request.RemoteAddr = test.remote
		request.Header.Set("X-Forwarded-For", "127.0.0.1")
		if test.local != "" {
			request = request.WithContext(context.WithValue(request.Context(), http.LocalAddrContextKey, address(test.local)))
		}
		answer := httptest.NewRecorder()
		newHandler(config, log.New(io.Discard, "", 0)).ServeHTTP(answer, request)
		if answer.Code != test.status || (answer.Body.String() == kept) != (test.status == http.StatusOK) {
			t.Errorf("from %q to %q: %d %s", test.remote, test.local, answer.Code, answer.Body)
		}
		if test.status == http.StatusForbidden && !strings.Contains(decode[problem](t, answer).Reason, "over loopback") {
			t.Errorf("no reason in %s", answer.Body)
		}
	}
}

// address is a net.Addr of any text.
type address string

func (a address) Network() string { return "tcp" }
func (a address) String() string  { return string(a) }

var _ net.Addr = address("")

func TestObservationsThatNobodyKeeps(t *testing.T) {
	request := httptest.NewRequestWithContext(context.WithValue(t.Context(), http.LocalAddrContextKey, address("127.0.0.1:1")),
		http.MethodGet, "/debug/observations", nil)
	request.RemoteAddr = "127.0.0.1:2"
	answer := httptest.NewRecorder()
	newHandler((&fake{}).config(), log.New(io.Discard, "", 0)).ServeHTTP(answer, request)
	if answer.Code != http.StatusNotFound || !strings.Contains(decode[problem](t, answer).Reason, "--debug-observations") {
		t.Errorf("%d %s", answer.Code, answer.Body)
	}
}
