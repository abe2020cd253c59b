package agents

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/podlapse/podlapse/internal/agents/agentstest"
	"github.com/podlapse/podlapse/pkg/client"
)

// plainAgent starts an agent that responds to every request and counts the requests.
func plainAgent(t *testing.T) (url string, requests *atomic.Int32) {
	t.Helper()
	requests = new(atomic.Int32)
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		fmt.Fprint(w, `{"node":"node-a"}`)
	}))
	t.Cleanup(agent.Close)
	return agent.URL, requests
}

func isProxy(r *http.Request) bool { return strings.Contains(r.URL.Path, "/proxy/") }

func isForward(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/portforward") }

// openOwn opens a cluster with its own transport, so that its connections are reused only within one test.
func openOwn(t *testing.T, server *agentstest.APIServer) *Cluster {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	c, err := Open(&rest.Config{Host: server.URL, Transport: transport}, "podlapse")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// TestFallBackToForward uses an API server whose proxy does not reach pods.
func TestFallBackToForward(t *testing.T) {
	refusing := func(code int) func(*agentstest.APIServer) {
		return func(s *agentstest.APIServer) {
			s.Refuse(func(r *http.Request) int {
				if isProxy(r) {
					return code
				}
				return 0
			})
		}
	}
	for name, test := range map[string]struct {
		proxy  func(*agentstest.APIServer)
		reason string
	}{
		"hangs":             {func(s *agentstest.APIServer) { s.Hang(isProxy) }, "did not respond within 1s"},
		"responds with 503": {refusing(http.StatusServiceUnavailable), `failed: the API server responded: "User`},
		"responds with 504": {refusing(http.StatusGatewayTimeout), `failed: the API server responded: "User`},
		"is not permitted":  {refusing(http.StatusForbidden), `failed: the API server responded: "User`},
		"drops connections": {refusing(http.StatusBadGateway), `failed: the API server responded: "User`},
	} {
		t.Run(name, func(t *testing.T) {
			url, requests := plainAgent(t)
			var pods []agentstest.Pod
			for i := range 3 {
				pod := agentPod(fmt.Sprint("agent-", i), fmt.Sprint("node-", i))
				pod.Agent = url
				pods = append(pods, pod)
			}
			server := agentstest.Start(t, pods...)
			test.proxy(server)
			c := openOwn(t, server)
			found, err := c.Agents(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			for range 2 {
				for _, agent := range found {
					if node, err := agent.Client.Node(ctx); err != nil || node.Node != "node-a" {
						t.Fatalf("%+v, %v", node, err)
					}
				}
			}
			proxied := 0
			for _, requested := range server.Asked() {
				if strings.Contains(requested, "/proxy/") {
					proxied++
				}
			}
			if proxied != 1 || requests.Load() != 6 {
				t.Errorf(
					"%d requests over the proxy, want 1; %d requests reached agents, want 6",
					proxied,
					requests.Load(),
				)
			}
			if reason := c.Fallback(); !strings.Contains(reason, test.reason) {
				t.Errorf("reason %.200q, want %q", reason, test.reason)
			}
		})
	}
}

// TestProxyIsKept requires no port-forward while the proxy works, and none after an error from the agent itself.
func TestProxyIsKept(t *testing.T) {
	var status atomic.Int32
	status.Store(http.StatusOK)
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(int(status.Load()))
		fmt.Fprint(w, `{"node":"node-a","error":"busy","reason":"too many"}`)
	}))
	defer agent.Close()
	pod := agentPod("agent-a", "node-a")
	pod.Agent = agent.URL
	server := agentstest.Start(t, pod)
	for _, code := range []int32{http.StatusOK, http.StatusServiceUnavailable, http.StatusNotFound,
		http.StatusTooManyRequests, http.StatusUnauthorized} {
		c := openOwn(t, server)
		found, err := c.Agents(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		status.Store(code)
		_, err = found[0].Client.Node(t.Context())
		var refused *client.Refusal
		if code != http.StatusOK && (!errors.As(err, &refused) || refused.Status != int(code) || refused.Kubernetes) {
			t.Errorf("%d: %v", code, err)
		}
		if c.Fallback() != "" {
			t.Errorf("%d: fell back because the proxy %s", code, c.Fallback())
		}
	}
	for _, requested := range server.Asked() {
		if strings.Contains(requested, "/portforward") {
			t.Errorf("forwarded a port: %s", requested)
		}
	}
}

// TestNeitherWay uses an agent that neither the proxy nor a port-forward reaches. The error must contain both reasons.
func TestNeitherWay(t *testing.T) {
	url, _ := plainAgent(t)
	pod := agentPod("agent-a", "node-a")
	pod.Agent = url
	server := agentstest.Start(t, pod)
	server.Refuse(func(r *http.Request) int {
		switch {
		case isProxy(r):
			return http.StatusServiceUnavailable
		case isForward(r):
			return http.StatusForbidden
		}
		return 0
	})
	found, err := openOwn(t, server).Agents(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	_, err = found[0].Client.Node(t.Context())
	var unreached *Unreached
	var refused *client.Refusal
	if !errors.As(err, &unreached) || !errors.As(unreached.Proxy, &refused) || refused.Status != 503 ||
		!errors.As(unreached.Forward, &refused) || refused.Status != 403 {
		t.Errorf("%v", err)
	}
	if text := Plain(err).Error(); strings.Contains(text, "http://") || !strings.Contains(text, "; then port-forward") {
		t.Errorf("got %s", text)
	}

	server.Refuse(nil)
	server.Hang(func(r *http.Request) bool { return isProxy(r) || isForward(r) })
	if found, err = openOwn(t, server).Agents(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), raceAfter+200*time.Millisecond)
	defer stop()
	if _, err := found[0].Client.Node(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

// TestRouteIsDecidedAgain uses a proxy that works only for the first request.
func TestRouteIsDecidedAgain(t *testing.T) {
	url, _ := plainAgent(t)
	pod := agentPod("agent-a", "node-a")
	pod.Agent = url
	server := agentstest.Start(t, pod)
	found, err := openOwn(t, server).Agents(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if _, err := found[0].Client.Node(t.Context()); err != nil {
			t.Fatalf("request %d: %v", i, err)
		}
		server.Refuse(func(r *http.Request) int {
			if isProxy(r) {
				return http.StatusServiceUnavailable
			}
			return 0
		})
	}
}
