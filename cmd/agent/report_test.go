package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/podlapse/podlapse/internal/agents/agentstest"
	"github.com/podlapse/podlapse/internal/podwatchtest"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/client"
)

// TestSumsOutliveAgent stops an agent after one start-up. The next agent sees a further start-up, and serves the sums
// of both start-ups and of a start-up in progress.
func TestSumsOutliveAgent(t *testing.T) {
	cluster := podwatchtest.Start(t)
	flags := []string{"--kubeconfig", agentstest.Kubeconfig(t, cluster.URL()), "--cri-endpoint", "off", "--events",
		"off", "--records", "none", "--state-dir", t.TempDir()}
	for n := range 2 {
		agent := start(t, flags...)
		agent.poll("/readyz", "ok")
		pod := numbered(n, time.Now())
		cluster.Put(pod)
		agent.poll("/api/v1/pods/shop/"+pod.Name, `"state":"starting"`)
		cluster.Put(ready(pod, time.Now()))
		agent.poll("/api/v1/report", fmt.Sprintf(`"ended":%d`, n+1))
		if n == 1 {
			cluster.Put(numbered(2, time.Now()))
			agent.poll("/api/v1/pods/shop/web-2", `"state":"starting"`)
		}
		report, err := client.Client{Server: agent.base}.Report(t.Context(), time.Time{})
		if err != nil || len(report.Items) != 1 {
			t.Fatalf("%+v, %v", report, err)
		}
		item := report.Items[0]
		if report.Totals.Ended != n+1 || item.Kind != api.ReportWorkload || item.Namespace != "shop" ||
			item.StartUps != n+1 || item.InProgress != n || item.Total <= 0 {
			t.Errorf("agent %d: %+v, %+v", n, report.Totals, item)
		}
		agent.mustEndCleanly()
	}
}

func TestHistoryOffKeepsNoSums(t *testing.T) {
	cluster := podwatchtest.Start(t)
	agent := start(t, "--kubeconfig", agentstest.Kubeconfig(t, cluster.URL()), "--cri-endpoint", "off", "--events",
		"off", "--records", "none", "--history-limit", "0", "--state-dir", t.TempDir())
	agent.poll("/readyz", "ok")
	_, body := agent.get("/api/v1/report")
	if !strings.Contains(body, "--history-limit") {
		t.Errorf("%s", body)
	}
	agent.mustEndCleanly()
}
