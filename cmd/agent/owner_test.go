package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podlapse/podlapse/internal/agents/agentstest"
	"github.com/podlapse/podlapse/internal/podwatchtest"
	"github.com/podlapse/podlapse/pkg/api"
)

// ownedBy returns a pod with a controller.
func ownedBy(kind, controller, name string) *corev1.Pod {
	pod := web0(time.Now().Add(-3 * time.Second))
	pod.Name, pod.UID = name, types.UID("uid-"+name)
	version := "apps/v1"
	if kind == "Job" {
		version = "batch/v1"
	}
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: version, Kind: kind, Name: controller,
		Controller: new(true)}}
	return pod
}

// Each record names the top-level workload of its pod. To find this workload, the agent requests only pods from the API
// server.
func TestAgentNamesOwnersWithoutRequests(t *testing.T) {
	cluster := podwatchtest.Start(t)
	agent := start(t, "--kubeconfig", agentstest.Kubeconfig(t, cluster.URL()), "--cri-endpoint", "off", "--events",
		"off")
	agent.pollUntil("/readyz", "ok")
	due := time.Now().Truncate(time.Minute).Unix() / 60
	web := ownedBy("ReplicaSet", "web-7d4b9c6f5", "web-7d4b9c6f5-x2x4k")
	web.Labels = map[string]string{"pod-template-hash": "7d4b9c6f5"}
	backup := ownedBy("Job", fmt.Sprint("backup-", due), fmt.Sprint("backup-", due, "-9fz2q"))
	for _, pod := range []*corev1.Pod{
		web,
		backup,
		ownedBy("Job", "import", "import-zz9zz"),
		ownedBy("StatefulSet", "db", "db-0"),
		web0(time.Now()),
	} {
		cluster.Put(pod)
		cluster.Delete(pod) // the start-up settles immediately, because no evidence can be late
	}
	got := map[string]string{}
	for range 5 {
		line, err := agent.records.ReadString('\n')
		var record api.Record
		if err != nil || json.Unmarshal([]byte(line), &record) != nil {
			t.Fatalf("%v in %q", err, line)
		}
		got[record.Name] = record.Owner.Kind + "/" + record.Owner.Name
	}
	want := map[string]string{
		web.Name: "Deployment/web", backup.Name: "CronJob/backup", "import-zz9zz": "Job/import",
		"db-0": "StatefulSet/db", "web-0": "/",
	}
	if !maps.Equal(got, want) {
		t.Errorf("owners %v, want %v", got, want)
	}
	agent.mustEndCleanly()
	others := func(r string) bool { return !strings.Contains(r, " /api/v1/pods ") }
	if requests := cluster.Requests(); slices.ContainsFunc(requests, others) {
		t.Errorf("requests %q", requests)
	}
}
