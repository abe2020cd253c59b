package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/internal/agents/agentstest"
	"github.com/podlapse/podlapse/internal/podwatchtest"
	"github.com/podlapse/podlapse/pkg/client"
)

// TestAgentServesItsAPI follows a pod through the stream and through requests. The test begins with the pod's start
// and ends after the pod's deletion.
func TestAgentServesItsAPI(t *testing.T) {
	cluster := podwatchtest.Start(t)
	pod := web0(time.Now().Add(-3 * time.Second))
	pod.Labels = map[string]string{"app": "web"}
	pod.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "PASSWORD", Value: "hunter2"}}
	agent := start(t, "--kubeconfig", agentstest.Kubeconfig(t, cluster.URL()), "--cri-endpoint", "off", "--events",
		"off", "--serve-objects", "on")
	agent.pollUntil("/readyz?verbose", "[+]pod_watch ok")

	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	api := client.Client{Server: agent.base}
	defer http.DefaultClient.CloseIdleConnections()
	followed := errors.New("seen all")
	seen := []string{}
	err := api.Follow(ctx, client.Filter{LabelSelector: "app=web"}, func(e client.Event) error {
		switch e.Kind {
		case client.KindReset:
			cluster.Put(pod)
		case client.KindPod:
			if state := string(e.Record.State); len(seen) == 0 || seen[len(seen)-1] != state {
				seen = append(seen, state)
			}
			switch e.Record.State {
			case "starting":
				cluster.Put(readyPod(pod, time.Now()))
			case "ready":
				_, body := agent.get("/api/v1/objects/pods?labelSelector=app=web")
				var list struct {
					corev1.PodList
					Cache struct{ Connected bool }
				}
				if err := json.Unmarshal([]byte(body), &list); err != nil || len(list.Items) != 1 ||
					!list.Cache.Connected ||
					list.Items[0].Name != "web-0" || strings.Contains(body, "hunter2") {
					t.Errorf("%v: %s", err, body)
				}
				cluster.Delete(readyPod(pod, time.Now()))
			}
		case client.KindGone:
			seen = append(seen, "gone")
			return followed
		}
		return nil
	})
	if !errors.Is(err, followed) || strings.Join(seen, " ") != "starting ready gone" {
		t.Errorf("%v after %v", err, seen)
	}

	record, err := api.Pod(ctx, "shop", "web-0")
	if err != nil || record.State != "ready" || record.GoneAt.IsZero() {
		t.Errorf("%+v, %v", record, err)
	}
	node, err := api.Node(ctx)
	if err != nil || node.Node != "node-a" || node.Pods.Present != 0 || node.History.Pods != 1 {
		t.Errorf("%+v, %v", node, err)
	}
	if _, err := api.Pod(ctx, "shop", "none"); err == nil || !strings.Contains(err.Error(), "no pod shop/none") {
		t.Errorf("%v", err)
	}
	for _, path := range []string{"/api/v1/pulls", "/api/v1/registries", "/api/v1/totals", "/api/v1/report",
		"/api/v1/evidence", "/api/v1/pods/shop/web-0/trace", "/api/v1/openapi.json"} {
		if status, body := agent.get(path); status != http.StatusOK || !json.Valid([]byte(body)) {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	_, metrics := agent.get("/metrics")
	for _, want := range []string{"podlapse_history_pods 1\n", "podlapse_stream_viewers 0\n",
		"podlapse_stream_resets_total 1\n"} {
		if !strings.Contains(metrics, want) {
			t.Errorf("metrics lack %q", want)
		}
	}
	agent.mustEndCleanly()
}
