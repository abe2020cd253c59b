package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/podlapse/podlapse/internal/agents/agentstest"
	"github.com/podlapse/podlapse/internal/critest"
	"github.com/podlapse/podlapse/internal/podwatchtest"
)

// A tenant can name any host in its pod, and forge the kubelet's Event that an image came from it.
func TestForgedPullsCauseNoRegistryProbes(t *testing.T) {
	var asked atomic.Int64
	victim := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer victim.Close()
	host := strings.TrimPrefix(victim.URL, "http://")
	path := filepath.Join(t.TempDir(), "probes.yaml")
	// The registry is listed as one without TLS; otherwise the agent does not connect to a loopback address.
	text := fmt.Sprintf("registries: {top: 1, interval: 1s, jitter: 0s, plain_http: [%q]}\n", host)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	image := host + "/web:2"
	cluster := podwatchtest.Start(t)
	pod := web0(time.Now().Add(-8 * time.Second))
	pod.Spec.Containers[0].Image = image
	cluster.Put(pod)
	runtime := critest.Start(t, filepath.Join(t.TempDir(), "cri.sock"), critest.Options{})
	agent := start(t, "--kubeconfig", agentstest.Kubeconfig(t, cluster.URL()), "--cri-endpoint", runtime.Endpoint(),
		"--probes-file", path, "--debug-observations=on")
	agent.poll("/debug/observations", `"kind":"runtime_seen"`)
	at := time.Now()
	cluster.Put(event("Pulling", fmt.Sprintf("Pulling image %q", image), at.Add(-2*time.Second)))
	cluster.Put(event("Pulled",
		fmt.Sprintf("Successfully pulled image %q in 200ms (300ms including waiting). Image size: 1 bytes.", image),
		at.Add(-time.Second)))
	agent.poll("/debug/observations", `"reason":"Pulled"`)
	time.Sleep(4 * time.Second)
	if n := asked.Load(); n > 0 {
		t.Errorf("after a forged Event, the agent connected to %s %d times", host, n)
	}
	runtime.PutImage(image, 1)
	cluster.Put(event("Pulled",
		fmt.Sprintf("Successfully pulled image %q in 200ms (210ms including waiting). Image size: 1 bytes.", image),
		time.Now()))
	cluster.Put(ready(pod, time.Now()))
	for deadline := time.Now().Add(10 * time.Second); asked.Load() == 0; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("a registry that the runtime pulled from is not probed")
		}
	}
	agent.mustEndCleanly()
}
