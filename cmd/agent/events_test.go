package main

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/internal/agents/agentstest"
	"github.com/podlapse/podlapse/internal/critest"
	"github.com/podlapse/podlapse/internal/podwatchtest"
)

// TestEventWatchesOfConnectedRuntime checks which Event watches leave out the Events Created and Started.
func TestEventWatchesOfConnectedRuntime(t *testing.T) {
	absent := "unix://" + filepath.Join(t.TempDir(), "absent.sock")
	const all = "watch /api/v1/namespaces/shop/events involvedObject.uid=uid-web-0,source=kubelet"
	for name, test := range map[string]struct {
		flags []string
		want  string
	}{
		"by default":              {nil, all + ",reason!=Created,reason!=Started"},
		"without a runtime":       {[]string{"--cri-endpoint", "off"}, all},
		"of the whole cluster":    {[]string{"--events", "cluster"}, "watch /api/v1/events source=kubelet"},
		"of a runtime that fails": {[]string{"--cri-endpoint", absent}, all},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := podwatchtest.Start(t)
			runtime := critest.Start(t, filepath.Join(t.TempDir(), "cri.sock"), critest.Options{})
			flags := append([]string{"--kubeconfig", agentstest.Kubeconfig(t, cluster.URL()), "--cri-endpoint",
				runtime.Endpoint()}, test.flags...)
			agent := start(t, flags...)
			if !slices.Contains(test.flags, "--cri-endpoint") {
				agent.pollUntil("/readyz?verbose", "[+]cri ok")
			}
			pod := web0(time.Now().Add(-time.Second))
			pod.Spec.Containers[0].ImagePullPolicy = corev1.PullAlways
			cluster.Put(pod)
			agent.pollUntil("/metrics", "podlapse_event_watches_open 1\n")
			agent.mustEndCleanly()
			if got := cluster.Requests(); !slices.Contains(got, test.want) {
				t.Errorf("requests %q, want %q", got, test.want)
			}
		})
	}
}
