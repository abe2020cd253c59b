package client

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// startAgent starts a server that responds to each request with the test's function.
func startAgent(t *testing.T, response http.HandlerFunc) Client {
	t.Helper()
	server := httptest.NewServer(response)
	transport := &http.Transport{}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		server.Close()
	})
	return Client{Server: server.URL + "/proxy/", HTTP: &http.Client{Transport: transport}}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
