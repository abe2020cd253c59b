package main

import (
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/podlapse/podlapse/internal/agents/agentstest"
	"github.com/podlapse/podlapse/internal/podwatchtest"
)

// Annotations that a user sets (request…), and annotations that the agent writes.
const (
	requestStartUp    = "podlapse.dev/annotate"
	startUpAnnotation = "podlapse.dev/startup"
	requestTime       = "addtime"
	timeAnnotation    = "timestamp"
)

// The test kills the first agent while a pod starts. The second agent sees the end of the start-up. The third agent
// starts long after the end of the start-up.
func TestAgentAnnotatesOnceAcrossRestarts(t *testing.T) {
	cluster := podwatchtest.Start(t)
	pod := web0(time.Now().Add(-3 * time.Second))
	pod.Annotations = map[string]string{requestStartUp: "true", requestTime: ""}
	cluster.Put(pod)
	run := func() *process {
		return start(t, "--kubeconfig", agentstest.Kubeconfig(t, cluster.URL()), "--cri-endpoint", "off", "--events",
			"off", "--annotate")
	}
	held := func(annotation string) string { return cluster.Pod("shop", "web-0").Annotations[annotation] }
	await := func(annotation string) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); held(annotation) == ""; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s was not set: %+v", annotation, cluster.Applies())
			}
		}
	}
	first := run()
	await(timeAnnotation)
	first.signal(syscall.SIGKILL)
	first.wait()

	second := run()
	second.pollUntil("/api/v1/pods/shop/web-0", `"state":"starting"`)
	over := readyPod(cluster.Pod("shop", "web-0"), time.Now())
	cluster.Put(over)
	await(startUpAnnotation)
	if got := held(startUpAnnotation); !strings.HasPrefix(got, `{"state":"ready",`) ||
		strings.Contains(got, "reconstructed") {
		t.Errorf("annotated %s", got)
	}
	second.pollUntil("/metrics", "podlapse_annotation_waiting_pods 0\n")
	second.mustEndCleanly()

	again := cluster.Pod("shop", "web-0")
	delete(again.Annotations, startUpAnnotation)
	cluster.Put(again)
	third := run()
	await(startUpAnnotation)
	if got := held(startUpAnnotation); !strings.Contains(got, `"reconstructed":true`) {
		t.Errorf("annotated %s", got)
	}
	third.pollUntil("/metrics", `podlapse_annotation_requests_total{result="written"} 1`)
	third.pollUntil("/readyz?verbose", "[+]annotations ok")
	third.mustEndCleanly()
	if applies := cluster.Applies(); len(applies) != 3 {
		t.Errorf("applied %+v", applies)
	}
}

// Without --annotate, the agent sends no request and has no metric, even if a pod requests annotations.
func TestAgentWithoutAnnotate(t *testing.T) {
	cluster := podwatchtest.Start(t)
	pod := readyPod(web0(time.Now().Add(-3*time.Second)), time.Now())
	pod.Annotations = map[string]string{requestStartUp: "true", requestTime: ""}
	cluster.Put(pod)
	agent := start(t, "--kubeconfig", agentstest.Kubeconfig(t, cluster.URL()), "--cri-endpoint", "off")
	agent.pollUntil("/api/v1/pods/shop/web-0", `"state":"ready"`)
	if _, metrics := agent.get("/metrics"); strings.Contains(metrics, "annotation") {
		t.Error("annotations are off but have a metric")
	}
	if _, parts := agent.get("/readyz?verbose"); strings.Contains(parts, "annotation") {
		t.Errorf("annotations are off but listed in: %s", parts)
	}
	agent.mustEndCleanly()
	if slices.ContainsFunc(cluster.Requests(), func(r string) bool { return strings.HasPrefix(r, "patch") }) {
		t.Errorf("requests %q", cluster.Requests())
	}
}
