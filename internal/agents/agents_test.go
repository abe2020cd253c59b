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

	"go.uber.org/goleak"
	"k8s.io/client-go/rest"

	"github.com/podlapse/podlapse/internal/agents/agentstest"
	"github.com/podlapse/podlapse/pkg/client"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, server *agentstest.APIServer) *Cluster {
	t.Helper()
	c, err := Open(&rest.Config{Host: server.URL, Transport: &http.Transport{}}, "podlapse")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func agentPod(name, node string) agentstest.Pod {
	return agentstest.Pod{Namespace: "podlapse", Name: name, Node: node, Port: 9717, Ready: true}
}

func TestAgents(t *testing.T) {
	leaving := agentPod("agent-old", "node-b")
	leaving.Leaving = true
	unready := agentPod("agent-new", "node-c")
	unready.Ready = false
	secure := agentPod("agent-c", "node-c")
	secure.HTTPS, secure.Port = true, 9800
	crashes := agentPod("agent-x", "node-a")
	crashes.Ready = false
	server := agentstest.Start(t, agentPod("agent-b", "node-b"), leaving, crashes, agentPod("agent-a", "node-a"),
		secure, unready,
		agentstest.Pod{Namespace: "podlapse", Name: "other", Node: "node-z"},
		agentstest.Pod{Namespace: "shop", Name: "web-0", Node: "node-z"})
	c := open(t, server)
	found, err := c.Agents(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, a := range found {
		got = append(got, a.Node+" "+strings.TrimPrefix(a.Server, server.URL))
	}
	const base = "/api/v1/namespaces/podlapse/pods/"
	want := []string{"node-a " + base + "agent-a:9717/proxy", "node-b " + base + "agent-b:9717/proxy",
		"node-c " + base + "https:agent-c:9800/proxy"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if one, err := c.Agents(t.Context(), "node-b"); err != nil || len(one) != 1 || one[0].Pod != "agent-b" {
		t.Errorf("%+v, %v", one, err)
	}
	if _, err := c.Agents(t.Context(), "node-z"); !errors.Is(err, ErrNoAgent) ||
		!strings.Contains(err.Error(), `"node-z"`) {
		t.Errorf("%v", err)
	}
}

// TestAgentsRestartsExpiredList checks that the list of pods starts again after the API server reports that the list
// has expired.
func TestAgentsRestartsExpiredList(t *testing.T) {
	var requested []string
	item := func(name, node string) string {
		return fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"nodeName":%q},"status":{"phase":"Running"}}`, name, node)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page := r.URL.Query().Get("continue")
		requested = append(requested, page)
		switch {
		case page == "":
			fmt.Fprintf(w, `{"metadata":{"continue":"%d"},"items":[%s]}`, len(requested), item("agent-a", "node-a"))
		case len(requested) == 2:
			w.WriteHeader(http.StatusGone)
			fmt.Fprint(w, `{"kind":"Status","message":"too old","reason":"Expired"}`)
		default:
			fmt.Fprintf(w, `{"items":[%s]}`, item("agent-b", "node-b"))
		}
	}))
	defer server.Close()
	c, err := Open(&rest.Config{Host: server.URL, Transport: &http.Transport{DisableKeepAlives: true}}, "podlapse")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	found, err := c.Agents(ctx, "")
	if err != nil || len(found) != 2 || fmt.Sprintf("%q", requested) != `["" "1" "" "3"]` {
		t.Errorf("%v, %d agents, requested %q", err, len(found), requested)
	}
}

func TestNodeOf(t *testing.T) {
	server := agentstest.Start(t, agentstest.Pod{Namespace: "shop", Name: "web-0", Node: "node-a"},
		agentstest.Pod{Namespace: "shop", Name: "new"})
	c := open(t, server)
	if node, err := c.NodeOf(t.Context(), "shop", "web-0"); node != "node-a" || err != nil {
		t.Errorf("%q, %v", node, err)
	}
	if _, err := c.NodeOf(t.Context(), "shop", "new"); !errors.Is(err, ErrNotBound) {
		t.Errorf("%v", err)
	}
	var refused *client.Refusal
	_, err := c.NodeOf(t.Context(), "shop", "gone")
	if !errors.As(err, &refused) || refused.Status != http.StatusNotFound || !refused.Kubernetes {
		t.Errorf("%v", err)
	}
	if names, err := c.Pods(t.Context(), "shop"); err != nil || fmt.Sprint(names) != "[web-0 new]" {
		t.Errorf("%v, %v", names, err)
	}
}

// TestAgentsNeverGetTheToken uses an agent that redirects its clients. The client must not follow the redirect, and the
// agent must not receive the token.
func TestAgentsNeverGetTheToken(t *testing.T) {
	var shown, elsewhere atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer other.Close()
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			shown.Add(1)
		}
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	}))
	defer agent.Close()
	evil := agentPod("agent-a", "node-a")
	evil.Agent = agent.URL
	server := agentstest.Start(t, evil)
	c, err := Open(&rest.Config{Host: server.URL, BearerToken: "a-token"}, "podlapse")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	found, err := c.Agents(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	var refused *client.Refusal
	if _, err := found[0].Client.Node(t.Context()); !errors.As(err, &refused) ||
		refused.Status != http.StatusTemporaryRedirect {
		t.Errorf("%v", err)
	}
	if shown.Load() != 0 || elsewhere.Load() != 0 {
		t.Errorf("the agent received %d tokens, and %d requests were redirected", shown.Load(), elsewhere.Load())
	}
}

// TestAgentsOverForwardedPort checks that requests to an agent that accepts only loopback clients use a forwarded
// port. The test includes endless responses and responses larger than a frame.
func TestAgentsOverForwardedPort(t *testing.T) {
	var refused, shown atomic.Int32
	long := strings.Repeat("x", 300_000)
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			shown.Add(1)
		}
		switch {
		case r.Header.Get("X-Forwarded-For") != "":
			refused.Add(1)
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `{"error":"not_local","reason":"over loopback only"}`)
		case r.Host != "localhost:9717":
			t.Errorf("requested the host %s", r.Host)
		default:
			fmt.Fprintf(w, `{"node":"node-a","agent":{"version":%q}}`, r.URL.RequestURI()+long)
		}
	}))
	defer agent.Close()
	reached := agentPod("agent-a", "node-a")
	reached.Agent = agent.URL
	server := agentstest.Start(t, reached)
	c, err := Open(&rest.Config{Host: server.URL, BearerToken: "a-token", Transport: &http.Transport{}}, "podlapse")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for range 2 { // like top when it searches for agents again
		found, err := c.Agents(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			node, err := found[0].Client.Node(t.Context())
			if err != nil || node.Agent.Version != "/api/v1/node"+long {
				t.Fatalf("%.100s, %v", node.Agent.Version, err)
			}
		}
	}
	if refused.Load() != 1 || shown.Load() != 0 {
		t.Errorf("the agent refused %d times, and received %d tokens", refused.Load(), shown.Load())
	}
	var forwards int
	for _, requested := range server.Asked() {
		if strings.HasSuffix(requested, "/namespaces/podlapse/pods/agent-a/portforward?ports=9717") {
			forwards++
		}
	}
	if forwards != 1 {
		t.Errorf("forwarded %d ports for four requests", forwards)
	}
}

// TestForwardingForbidden requires the API server's reason in the error.
func TestForwardingForbidden(t *testing.T) {
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"error":"not_local","reason":"over loopback only"}`)
	}))
	defer agent.Close()
	reached := agentPod("agent-a", "node-a")
	reached.Agent = agent.URL
	server := agentstest.Start(t, reached)
	server.Refuse(func(r *http.Request) int {
		if strings.HasSuffix(r.URL.Path, "/portforward") {
			return http.StatusForbidden
		}
		return 0
	})
	found, err := open(t, server).Agents(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	var refused *client.Refusal
	if _, err := found[0].Client.Node(t.Context()); !errors.As(err, &refused) || !refused.Kubernetes ||
		!strings.Contains(refused.Reason, "portforward") {
		t.Errorf("%v", err)
	}
}

// TestEachLimitsConcurrencyAndTime queries many agents, and none of them responds. Each must query only a few agents
// at the same time, each with a time limit. An agent that was not queried must not count as responded.
func TestEachLimitsConcurrencyAndTime(t *testing.T) {
	var now, most atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
	}))
	defer server.Close()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	many := make([]Agent, 100)
	for i := range many {
		many[i] = Agent{Node: fmt.Sprint(i),
			Client: client.Client{Server: server.URL, HTTP: &http.Client{Transport: transport}}}
	}
	ctx, stop := context.WithTimeout(t.Context(), 120*time.Millisecond)
	defer stop()
	responses := Each(ctx, many, 50*time.Millisecond, func(ctx context.Context, c client.Client) (string, error) {
		for n := now.Add(1); ; {
			if old := most.Load(); n <= old || most.CompareAndSwap(old, n) {
				break
			}
		}
		defer now.Add(-1)
		node, err := c.Node(ctx)
		return node.Node, err
	})
	for i, response := range responses {
		if response.Agent.Node != fmt.Sprint(i) || !errors.Is(response.Err, context.DeadlineExceeded) {
			t.Errorf("%d: %+v", i, response)
		}
	}
	if most.Load() > AtOnce || most.Load() < 2 {
		t.Errorf("%d at once", most.Load())
	}
}

// TestEachStopsWithTheCommand ends the command while the maximum number of queries is in progress. The errors of
// queried agents must differ from the errors of agents that were never queried.
func TestEachStopsWithTheCommand(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var requested atomic.Int32
	ask := func(ctx context.Context, _ client.Client) (string, error) {
		if requested.Add(1) == AtOnce {
			stop()
		}
		<-ctx.Done()
		return "", ctx.Err()
	}
	responses := Each(ctx, make([]Agent, 3*AtOnce), time.Minute, ask)
	late := 0
	for _, response := range responses {
		if errors.Is(response.Err, ErrNotQueried) {
			late++
		}
		if !errors.Is(response.Err, context.Canceled) {
			t.Errorf("error %v, want the end of the command", response.Err)
		}
	}
	if queried := int(requested.Load()); queried != AtOnce || late != len(responses)-AtOnce {
		t.Errorf("%d agents queried and %d not queried, want %d and %d", queried, late, AtOnce, len(responses)-AtOnce)
	}
}
