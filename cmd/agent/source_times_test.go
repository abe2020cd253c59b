package main

import (
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/internal/agents/agentstest"
	"github.com/podlapse/podlapse/internal/critest"
	"github.com/podlapse/podlapse/internal/podwatchtest"
)

func TestAgentExportsSourceMetrics(t *testing.T) {
	cluster := podwatchtest.Start(t)
	pod := web0(time.Now().Add(-3 * time.Second))
	cluster.Put(pod)
	socket := filepath.Join(t.TempDir(), "cri.sock")
	runtime := critest.Start(t, socket, critest.Options{})
	agent := start(t, "--kubeconfig", agentstest.Kubeconfig(t, cluster.URL()), "--cri-endpoint", "unix://"+socket)
	agent.pollMatch("/metrics", `(?m)^podlapse_source_last_observation_timestamp_seconds{source="cri"} `)
	seenAt := regexp.MustCompile(`(?m)^podlapse_source_last_observation_timestamp_seconds{source="pod_watch"} (\S+)$`)
	_, metrics := agent.get("/metrics")
	if m := seenAt.FindStringSubmatch(metrics); m == nil {
		t.Error("no source has observed a pod")
	} else if at, err := strconv.ParseFloat(m[1], 64); err != nil ||
		time.Since(time.UnixMicro(int64(at*1e6))).Abs() > time.Minute {
		t.Errorf("last observation at %s, %v", m[1], err)
	}
	runtime.Stop()
	agent.pollUntil("/metrics", `podlapse_source_up{source="cri"} 0`)
	agent.pollUntil("/metrics", `podlapse_source_reconnects_total{source="cri"} 0`)
	critest.Start(t, socket, critest.Options{})
	agent.pollUntil("/metrics", `podlapse_source_reconnects_total{source="cri"} 1`)
	agent.pollUntil("/metrics", `podlapse_source_reconnects_total{source="pod_watch"} 0`)
	agent.mustEndCleanly()
}

// An agent counts the restarts that it observes, and the next agent does not count them again.
func TestAgentCountsRestartsOnce(t *testing.T) {
	cluster := podwatchtest.Start(t)
	pod := readyPod(web0(time.Now().Add(-time.Minute)), time.Now().Add(-50*time.Second))
	cluster.Put(pod)
	flags := []string{"--kubeconfig", agentstest.Kubeconfig(t, cluster.URL()), "--cri-endpoint", "off", "--events",
		"off"}
	agent := start(t, flags...)
	agent.pollUntil("/metrics", `podlapse_container_restarts_total{kind="main",reason="oom_killed"} 0`)
	agent.pollUntil("/api/v1/pods/shop/web-0", `"state":"ready"`)
	status := &pod.Status.ContainerStatuses[0]
	status.RestartCount = 1
	status.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{Reason: "OOMKilled", ExitCode: 137}
	cluster.Put(pod)
	agent.pollUntil("/metrics", `podlapse_container_restarts_total{kind="main",reason="oom_killed"} 1`)
	agent.pollUntil("/metrics", `podlapse_evidence_reconstructed_total{how="over"} 1`)
	agent.mustEndCleanly()

	next := start(t, flags...)
	next.pollUntil("/api/v1/pods/shop/web-0", `"state":"ready"`)
	next.pollUntil("/metrics", `podlapse_container_restarts_total{kind="main",reason="oom_killed"} 0`)
	next.mustEndCleanly()
}

// A pod has a series until its deletion. The next scrape after the deletion must not contain the series.
func TestAgentRemovesSeriesOfDeletedPod(t *testing.T) {
	cluster := podwatchtest.Start(t)
	pod := web0(time.Now().Add(-3 * time.Second))
	cluster.Put(pod)
	agent := start(t, "--kubeconfig", agentstest.Kubeconfig(t, cluster.URL()), "--cri-endpoint", "off", "--events",
		"off", "--metrics-pod-labels")
	series := regexp.MustCompile(`(?m)^podlapse_pod_startup_seconds{.*pod="web-0"`)
	agent.pollMatch("/metrics", series.String())
	cluster.Delete(pod)
	if _, err := agent.records.ReadString('\n'); err != nil { // wait until the agent has seen the deletion
		t.Fatal(err)
	}
	if _, metrics := agent.get("/metrics"); series.MatchString(metrics) {
		t.Error("a deleted pod has a series")
	}
	agent.pollUntil("/api/v1/pods/shop/web-0", `"state":"deleted"`) // the pod is still in the history
	agent.mustEndCleanly()
}
