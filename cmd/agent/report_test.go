package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podlapse/podlapse/internal/agents/agentstest"
	"github.com/podlapse/podlapse/internal/cli"
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
		agent.pollUntil("/readyz", "ok")
		pod := numbered(n, time.Now())
		cluster.Put(pod)
		agent.pollUntil("/api/v1/pods/shop/"+pod.Name, `"state":"starting"`)
		cluster.Put(readyPod(pod, time.Now()))
		agent.pollUntil("/api/v1/report", fmt.Sprintf(`"ended":%d`, n+1))
		if n == 1 {
			cluster.Put(numbered(2, time.Now()))
			agent.pollUntil("/api/v1/pods/shop/web-2", `"state":"starting"`)
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
	agent.pollUntil("/readyz", "ok")
	_, body := agent.get("/api/v1/report")
	if !strings.Contains(body, "--history-limit") {
		t.Errorf("%s", body)
	}
	agent.mustEndCleanly()
}

// TestReportOfFullNode uses 500 start-ups of 60 workloads. The pods of one workload start 20 s before the other pods.
// The command must respond within 2 s, and the API must respond in pages.
func TestReportOfFullNode(t *testing.T) {
	const startUps, workloads, slow = 500, 60, 7
	cluster := podwatchtest.Start(t)
	agent := start(t, "--kubeconfig", agentstest.Kubeconfig(t, cluster.URL()), "--cri-endpoint", "off", "--events",
		"off", "--records", "none")
	agent.pollUntil("/readyz", "ok")
	var pods []*corev1.Pod
	for n := range startUps {
		owner := fmt.Sprintf("w%02d", n%workloads)
		pod := ownedBy("StatefulSet", owner, fmt.Sprint(owner, "-", n/workloads))
		if n%workloads == slow {
			pod.CreationTimestamp = metav1.NewTime(pod.CreationTimestamp.Add(-20 * time.Second))
		}
		pods = append(pods, pod)
		cluster.Put(pod)
	}
	agent.pollUntil("/api/v1/node", fmt.Sprintf(`"starting":%d`, startUps))
	for _, pod := range pods {
		cluster.Put(readyPod(pod, time.Now()))
	}
	agent.pollUntil("/api/v1/report", fmt.Sprintf(`"ended":%d`, startUps))
	began := time.Now()
	result := runProgram(t, "podlapse-agent", nil, "report", "--server", agent.base)
	took := time.Since(began)
	t.Logf("report took %v:\n%s", took, result.stdout)
	result.must(t, cli.ExitOK, "500 start-ups (0 unsuccessful), 0 in progress", "")
	result.must(t, cli.ExitOK, fmt.Sprintf("WORST WORKLOADS\nstatefulset shop/w%02d: ", slow), "")
	if took > 2*time.Second {
		t.Errorf("report took %v, want at most 2 s", took)
	}
	_, body := agent.get("/api/v1/report?limit=50")
	var page api.ReportRecord
	if err := json.Unmarshal([]byte(body), &page); err != nil || len(page.Items) != 50 ||
		page.Remaining != workloads-50 || page.Continue == "" {
		t.Errorf("%v: %d items, %d remaining", err, len(page.Items), page.Remaining)
	}
	agent.mustEndCleanly()
}
