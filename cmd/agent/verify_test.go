package main

import (
	"strings"
	"testing"
	"time"

	"github.com/podlapse/podlapse/internal/agents/agentstest"
	"github.com/podlapse/podlapse/internal/podwatchtest"
)

func TestAgentVerifiesItsWatch(t *testing.T) {
	cluster := podwatchtest.Start(t)
	agent := start(
		t,
		"--kubeconfig",
		agentstest.Kubeconfig(t, cluster.URL()),
		"--cri-endpoint",
		"off",
		"--verify-interval",
		"24h",
		"--watch-delays",
	)
	agent.pollUntil("/readyz?verbose", "[+]pod_watch ok")
	agent.pollUntil("/readyz?verbose", "[-]pod_cache down")
	cluster.Put(web0(time.Now().Add(-3 * time.Second)))
	agent.pollUntil("/metrics", `podlapse_pod_watch_delay_seconds_count{change="bound"} 1`)
	_, metrics := agent.get("/metrics")
	for _, want := range []string{
		`podlapse_pod_cache_verifications_total{result="complete"} 0`,
		`podlapse_pod_cache_repairs_total{difference="missing"} 0`,
		`podlapse_pod_watch_delay_seconds_count{change="deleted"} 0`, "podlapse_event_watch_delay_seconds_count 0",
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("metrics lack %q", want)
		}
	}
	for _, never := range []string{"podlapse_pod_cache_verified_timestamp", `podlapse_source_up{source="pod_cache"}`} {
		if strings.Contains(metrics, never) {
			t.Errorf("%q is in the metrics", never)
		}
	}
	agent.mustEndCleanly()
}

// By default, the agent does not compare its pods with lists, and has no metrics of differences.
func TestAgentDoesNotVerifyItsWatchByDefault(t *testing.T) {
	cluster := podwatchtest.Start(t)
	agent := start(t, "--kubeconfig", agentstest.Kubeconfig(t, cluster.URL()), "--cri-endpoint", "off")
	agent.pollUntil("/readyz?verbose", "[+]pod_watch ok")
	_, metrics := agent.get("/metrics")
	_, parts := agent.get("/readyz?verbose")
	if strings.Contains(metrics, "_delay_seconds") || strings.Contains(metrics+parts, "pod_cache") {
		t.Errorf("listed although off: %s", parts)
	}
	agent.mustEndCleanly()
}
