package main

import (
	"fmt"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/podlapse/podlapse/pkg/podwatch/podwatchtest"
)

// A node comes up full, its agent is killed in the midst of it, and all pods are ready when the next one comes: a healthy collector
// gets every trace.
func TestABurstAfterARestartIsSentWhole(t *testing.T) {
	const pods = 500
	startCollector(t)
	cluster := podwatchtest.Start(t)
	for i := range pods {
		cluster.Put(numbered(i, time.Now().Add(-3*time.Second)))
	}
	flags := []string{"--kubeconfig", kubeconfig(t, cluster.URL()), "--cri-endpoint", "off", "--events", "off",
		"--state-dir", filepath.Join(t.TempDir(), "state"), "--records", recordsTimeline}
	agent := start(t, flags...)
	agent.collect()
	agent.poll(fmt.Sprintf("/api/v1/pods/shop/web-%d", pods-1), `"state":"starting"`)
	agent.signal(syscall.SIGKILL)
	agent.wait()
	for i := range pods {
		cluster.Put(ready(numbered(i, time.Now().Add(-5*time.Second)), time.Now()))
	}
	agent = start(t, flags...)
	written := agent.collect()
	agent.poll("/metrics", fmt.Sprintf("podlapse_sink_sent_total{sink=\"otlp\"} %d\n", pods))
	agent.poll("/metrics", "podlapse_sink_dropped_total{sink=\"otlp\"} 0\n")
	agent.mustEndCleanly()
	if records := written(); len(records) != pods {
		t.Errorf("%d records of %d start-ups", len(records), pods)
	}
}
