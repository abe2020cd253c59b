package main

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podlapse/podlapse/internal/agents/agentstest"
	"github.com/podlapse/podlapse/internal/cli"
	"github.com/podlapse/podlapse/internal/podwatchtest"
)

// getAs sends a request with a bearer token.
func (p *process) getAs(token, path string) int {
	p.t.Helper()
	request, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, p.base+path, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		p.t.Fatal(err)
	}
	_ = response.Body.Close()
	return response.StatusCode
}

func TestAgentServesAuthorizedClients(t *testing.T) {
	cluster := podwatchtest.Start(t)
	cluster.KnowToken("scrapers-token", "prometheus")
	cluster.KnowToken("pods-token", "default")
	cluster.Authorize(func(a podwatchtest.Attempt) bool { return a.User != "default" })
	agent := start(
		t,
		"--kubeconfig",
		agentstest.Kubeconfig(t, cluster.URL()),
		"--cri-endpoint",
		"off",
		"--web-auth",
		"kubernetes",
		"--log-level",
		"debug",
	)
	agent.pollUntil("/readyz", "ok")
	for token, want := range map[string]int{
		"scrapers-token": http.StatusOK, "pods-token": http.StatusForbidden, "made-up-token": http.StatusUnauthorized,
	} {
		if got := agent.getAs(token, "/metrics"); got != want {
			t.Errorf("%s: %d, want %d", token, got, want)
		}
	}
	if status, _ := agent.get("/api/v1/pods"); status != http.StatusUnauthorized {
		t.Errorf("without a token: %d", status)
	}
	agent.pollUntil("/readyz?verbose", "[+]web_auth ok")
	cluster.Refuse(http.StatusForbidden, metav1.StatusReasonForbidden, "tokenreviews is forbidden")
	if got := agent.getAs("another-token", "/metrics"); got != http.StatusServiceUnavailable {
		t.Errorf("without reviews by the API server: %d", got)
	}
	if got := agent.getAs("scrapers-token", "/metrics"); got != http.StatusOK {
		t.Errorf("with a cached review: %d", got)
	}
	agent.pollUntil("/readyz?verbose", "metrics-auth")
	agent.mustEndCleanly()
	for line := range agent.logs {
		if strings.Contains(line, "-token") {
			t.Errorf("logs a token: %s", line)
		}
	}
}

// By default, every client that reaches the agent can read the metrics, so metrics must not contain pod names.
func TestMetricsNameNoPods(t *testing.T) {
	cluster := podwatchtest.Start(t)
	pod := web0(time.Now().Add(-3 * time.Second))
	cluster.Put(pod)
	agent := start(t, "--kubeconfig", agentstest.Kubeconfig(t, cluster.URL()), "--cri-endpoint", "off")
	agent.pollUntil("/api/v1/pods/shop/web-0", `"state":"starting"`)
	agent.pollUntil("/metrics", `podlapse_pods_starting{`)
	_, text := agent.get("/metrics")
	names := []string{pod.Name, `"` + pod.Namespace + `"`, string(pod.UID)}
	for _, container := range pod.Spec.Containers {
		names = append(names, container.Image, `"`+container.Name+`"`)
	}
	for _, name := range names {
		if strings.Contains(text, name) {
			t.Errorf("metrics contain %s", name)
		}
	}
	agent.mustEndCleanly()
}

func TestAgentListsPodsAsItsNode(t *testing.T) {
	cluster := podwatchtest.Start(t)
	cluster.Put(web0(time.Now().Add(-3 * time.Second)))
	agent := start(
		t,
		"--kubeconfig",
		agentstest.Kubeconfig(t, cluster.URL()),
		"--cri-endpoint",
		"off",
		"--impersonate-node",
	)
	agent.pollUntil("/api/v1/pods/shop/web-0", `"state":"starting"`)
	agent.pollUntil("/readyz?verbose", "[+]event_watch ok: watching")
	cluster.Authorize(func(a podwatchtest.Attempt) bool { return a.Verb != "impersonate:associated-node" })
	cluster.BreakWatches()
	agent.pollUntil("/readyz?verbose", "allow impersonate:associated-node")
	agent.mustEndCleanly()
	requests := cluster.Requests()
	if !slices.Contains(requests, "watch /api/v1/pods spec.nodeName=node-a as system:node:node-a") {
		t.Errorf("requests %q", requests)
	}
	for _, request := range requests {
		if strings.Contains(request, "pods") != strings.Contains(request, " as system:node:node-a") {
			t.Errorf("request %q was sent as the node, which is for pods only", request)
		}
	}
}

// A request cannot contain both a token and a password, because both use the same header.
func TestTokensExcludePasswords(t *testing.T) {
	path := filepath.Join(t.TempDir(), "web.yaml")
	if err := os.WriteFile(path,
		[]byte("basic_auth_users: {a: $2y$10$QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi}"),
		0o600); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	code := runAsAgent(context.Background(),
		[]string{"run", "--node-name=a", "--web-config-file", path, "--web-auth=kubernetes"}, environment{}.get,
		&stdout, &stderr)
	if code != cli.ExitUsage || !strings.Contains(stderr.String(), "both a token and a password") {
		t.Errorf("exit %d, %s", code, stderr.String())
	}
}
