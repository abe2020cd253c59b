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

// A tenant can use any host in an image reference, and can forge the kubelet's Event about a pull from this host.
func TestForgedPullsCauseNoRegistryProbes(t *testing.T) {
	host, requested := countingRegistry(t)
	realHost, askedReal := countingRegistry(t)
	path := filepath.Join(t.TempDir(), "probes.yaml")
	// The agent connects to a loopback address only if plain_http lists the registry.
	text := fmt.Sprintf("registries: {top: 2, interval: 1s, jitter: 0s, plain_http: [%q, %q]}\n", host, realHost)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	image := host + "/web:2"
	cluster := podwatchtest.Start(t)
	pod := web0(time.Now().Add(-8 * time.Second))
	pod.Spec.Containers[0].Image = image
	cluster.Put(pod)
	realImage := realHost + "/web:2"
	realPod := numbered(1, time.Now().Add(-8*time.Second))
	realPod.Spec.Containers[0].Image = realImage
	cluster.Put(realPod)
	runtime := critest.Start(t, filepath.Join(t.TempDir(), "cri.sock"), critest.Options{})
	agent := start(t, "--kubeconfig", agentstest.Kubeconfig(t, cluster.URL()), "--cri-endpoint", runtime.Endpoint(),
		"--probes-file", path, "--debug-observations=on")
	for _, name := range []string{"web-0", "web-1"} {
		agent.pollMatch("/debug/observations", `"kind":"runtime_seen","uid":"uid-`+name+`"`)
	}
	at := time.Now()
	cluster.Put(kubeletEvent("Pulling", fmt.Sprintf("Pulling image %q", image), at.Add(-2*time.Second)))
	cluster.Put(kubeletEvent("Pulled",
		fmt.Sprintf("Successfully pulled image %q in 200ms (300ms including waiting). Image size: 1 bytes.", image),
		at.Add(-time.Second)))
	agent.pollUntil("/debug/observations", `"reason":"Pulled"`)

	// The agent probes the registry of a real pull repeatedly. If the agent counted forged pulls, it would also probe
	// the registry of the forged pull during this time.
	runtime.PutImage(realImage, 1)
	pulled := kubeletEvent("Pulled",
		fmt.Sprintf("Successfully pulled image %q in 200ms (210ms including waiting). Image size: 1 bytes.", realImage),
		time.Now())
	pulled.Name, pulled.InvolvedObject.Name, pulled.InvolvedObject.UID = "web-1.1", realPod.Name, realPod.UID
	cluster.Put(pulled)
	cluster.Put(readyPod(realPod, time.Now()))
	awaitCount(t, askedReal, 3, "probes of the registry that the runtime pulled from")
	if n := requested.Load(); n > 0 {
		t.Errorf("after a forged Event, the agent connected to %s %d times", host, n)
	}
	runtime.PutImage(image, 1)
	cluster.Put(kubeletEvent("Pulled",
		fmt.Sprintf("Successfully pulled image %q in 200ms (210ms including waiting). Image size: 1 bytes.", image),
		time.Now()))
	cluster.Put(readyPod(pod, time.Now()))
	awaitCount(t, requested, 1, "probes of the registry after a real pull")
	agent.mustEndCleanly()
}

// countingRegistry starts a registry, and returns its host and the number of requests that it received.
func countingRegistry(t *testing.T) (host string, requests *atomic.Int64) {
	t.Helper()
	requests = new(atomic.Int64)
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://"), requests
}

// awaitCount waits until a number reaches a limit.
func awaitCount(t *testing.T, count *atomic.Int64, limit int64, what string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); count.Load() < limit; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d %s, want at least %d", count.Load(), what, limit)
		}
	}
}
