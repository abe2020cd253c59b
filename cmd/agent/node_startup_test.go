package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podlapse/podlapse/internal/podwatchtest"
)

// lockedBuffer is a buffer that the agent and the test use at the same time.
type lockedBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

// Write implements io.Writer.
func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

func (b *lockedBuffer) text() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.String()
}

// startBooted runs an agent on a node that booted a minute ago, and whose first workload pod is ready.
func startBooted(t *testing.T, records io.Writer, flags ...string) (insideAgent, *podwatchtest.Server) {
	t.Helper()
	booted := time.Now().Add(-time.Minute).Truncate(time.Second)
	after := func(seconds int) metav1.Time { return metav1.NewTime(booted.Add(time.Duration(seconds) * time.Second)) }
	proc := t.TempDir()
	stat := fmt.Appendf(nil, "cpu 1\nbtime %d\n", booted.Unix())
	if err := os.WriteFile(filepath.Join(proc, "stat"), stat, 0o600); err != nil {
		t.Fatal(err)
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-a", CreationTimestamp: after(20)}}
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue,
		LastTransitionTime: after(30)}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "1",
		CreationTimestamp: after(35)}, Spec: corev1.PodSpec{NodeName: "node-a",
		Containers: []corev1.Container{{Name: "app", Image: "app:1"}}}}
	start := after(36)
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, StartTime: &start, Conditions: []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: after(36)},
		{Type: corev1.ContainersReady, Status: corev1.ConditionTrue, LastTransitionTime: after(40)},
		{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: after(40)}},
		ContainerStatuses: []corev1.ContainerStatus{{Name: "app", Ready: true, State: corev1.ContainerState{
			Running: &corev1.ContainerStateRunning{StartedAt: after(38)}}}}}
	cluster := podwatchtest.Start(t)
	cluster.Put(node)
	cluster.Put(pod)
	return startInsideWriting(t, cluster, records, append(flags, "--node-startup", "--proc-dir="+proc,
		"--cri-endpoint=off", "--events=off")...), cluster
}

func TestNodeStartUp(t *testing.T) {
	t.Parallel()
	var records lockedBuffer
	a, cluster := startBooted(t, &records)
	a.awaitMetric(t, "podlapse_node_startup_seconds", 38)
	a.awaitMetric(t, "podlapse_node_startup_reconstructed", 1)
	a.stop()
	if text := records.text(); strings.Count(text, `{"node_startup":{`) != 1 ||
		!strings.Contains(text, `"workload":{"namespace":"shop","name":"web"`) {
		t.Errorf("records: %s", text)
	}
	for _, request := range cluster.Requests() {
		if strings.Contains(request, "nodes") && !strings.Contains(request, "metadata.name=node-a") {
			t.Errorf("requested %q", request)
		}
	}
}
