package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podlapse/podlapse/internal/agents/agentstest"
	"github.com/podlapse/podlapse/internal/cli"
	"github.com/podlapse/podlapse/internal/critest"
	"github.com/podlapse/podlapse/internal/podwatchtest"
	"github.com/podlapse/podlapse/internal/recorder"
)

// kubeletEvent returns an Event of the kubelet about web-0's container. The Event's name has the form that client-go
// generates.
func kubeletEvent(reason, message string, at time.Time) *corev1.Event {
	stamp := metav1.NewTime(at.Truncate(time.Second))
	return &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprintf("web-0.%x", at.UnixNano())},
		InvolvedObject: corev1.ObjectReference{
			Kind: "Pod", Namespace: "shop", Name: "web-0", UID: "uid-web-0", FieldPath: "spec.containers{app}",
		},
		Source: corev1.EventSource{Component: "kubelet", Host: "node-a"},
		Reason: reason, Message: message, FirstTimestamp: stamp, LastTimestamp: stamp, Count: 1,
	}
}

// TestReplayEqualsAgentRecords checks that replaying a recording produces the same records as the agent.
func TestReplayEqualsAgentRecords(t *testing.T) {
	cluster := podwatchtest.Start(t)
	pod := web0(time.Now().Add(-3 * time.Second))
	cluster.Put(pod)
	runtime := critest.Start(t, filepath.Join(t.TempDir(), "cri.sock"), critest.Options{})
	file := filepath.Join(t.TempDir(), "web.jsonl")
	agent := start(t, "--kubeconfig", agentstest.Kubeconfig(t, cluster.URL()), "--cri-endpoint", runtime.Endpoint(),
		"--record-observations", file, "--debug-observations=on")
	agent.pollUntil("/readyz?verbose", "[+]recording ok")
	agent.pollUntil("/debug/observations", `"kind":"runtime_seen"`)

	now := time.Now()
	before := func(ms int) time.Time { return now.Add(-time.Duration(ms) * time.Millisecond) }
	cluster.Put(kubeletEvent("Pulling", `Pulling image "registry.example/web:2"`, before(600)))
	cluster.Put(kubeletEvent("Pulled",
		`Successfully pulled image "registry.example/web:2" in 200ms (300ms including waiting). `+
			`Image size: 20971520 bytes.`, before(300)))
	runtime.PutImage("registry.example/web:2", 20<<20)
	runtime.PutSandbox(critest.Sandbox{ID: "s1", PodUID: "uid-web-0", CreatedAt: before(800)})
	runtime.StoreSandbox("s1", critest.Stamps{CreatedAt: before(900), UpdatedAt: before(700)})
	runtime.PutContainer(critest.Container{
		ID: "c1", SandboxID: "s1", PodUID: "uid-web-0", Name: "app", CreatedAt: before(200), StartedAt: before(100),
	})
	agent.pollUntil("/debug/observations", `"reason":"Pulled"`)
	cluster.Put(readyPod(pod, now))
	written, err := agent.records.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	agent.pollUntil("/debug/observations", `"running_at"`)
	_, latest := agent.get("/debug/observations")
	_, metrics := agent.get("/metrics")
	if !strings.Contains(metrics, "podlapse_sink_dropped_total{sink=\"recording\"} 0") ||
		strings.Contains(metrics, `{source="recording"}`) {
		t.Error("wrong metrics of the recording")
	}
	agent.mustEndCleanly()

	recorded, err := os.ReadFile(file)
	// the agent can have recorded more in the meantime
	if err != nil || !strings.HasPrefix(string(recorded), latest) {
		t.Errorf("%v; the file is\n%s/debug/observations returned\n%s", err, recorded, latest)
	}
	var replayed, stderr bytes.Buffer
	if code := runAsAgent(t.Context(), []string{"replay", "-o", "json", file}, environment{}.get, &replayed,
		&stderr); code != cli.ExitOK {
		t.Errorf("exit %d: %s", code, stderr.String())
	}
	if replayed.String() != written {
		t.Errorf("replay printed\n%sthe agent wrote\n%s", replayed.String(), written)
	}
	if rest, err := io.ReadAll(agent.records); err != nil || len(rest) > 0 {
		t.Errorf("unexpected text on standard output: %q, %v", rest, err)
	}
}

func TestAgentKeepsObservationsInMemory(t *testing.T) {
	cluster := podwatchtest.Start(t)
	cluster.Put(web0(time.Now().Add(-3 * time.Second)))
	agent := start(t, "--kubeconfig", agentstest.Kubeconfig(t, cluster.URL()), "--cri-endpoint", "off",
		"--debug-observations", "on")
	agent.pollUntil("/debug/observations", `"kind":"pod_seen"`)
	if _, body := agent.get("/readyz?verbose"); strings.Contains(body, "recording") {
		t.Errorf("without a file, a file appears in\n%s", body)
	}
	agent.mustEndCleanly()
}

func TestAgentContinuesWhenRecordingCannotGrow(t *testing.T) {
	cluster := podwatchtest.Start(t)
	pod := web0(time.Now().Add(-3 * time.Second))
	cluster.Put(pod)
	file := filepath.Join(t.TempDir(), "full.jsonl")
	const header = `{"kind":"header","version":1}` + "\n"
	if err := os.WriteFile(file, []byte(header), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(file, recorder.MaxFile-1); err != nil { // sparse, so it uses no blocks
		t.Fatal(err)
	}
	end, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer end.Close()
	if _, err := end.WriteString("\n"); err != nil {
		t.Fatal(err)
	}
	agent := start(t, "--kubeconfig", agentstest.Kubeconfig(t, cluster.URL()), "--cri-endpoint", "off",
		"--record-observations", file, "--debug-observations=on")
	agent.pollUntil("/readyz?verbose", "[-]recording down since")
	agent.pollUntil("/readyz?verbose", "(still ready): recording stopped until the agent restarts: "+
		"the file has reached its limit of 256 MiB")
	agent.pollUntil("/debug/observations", `"kind":"pod_seen"`)
	agent.pollMatch("/metrics", `podlapse_sink_dropped_total{sink="recording"} [1-9]`)
	cluster.Delete(pod) // the start-up settles immediately, because no evidence can be late
	if line, err := agent.records.ReadString('\n'); err != nil || !strings.Contains(line, `"name":"web-0"`) {
		t.Errorf("standard output got %q, %v", line, err)
	}
	agent.mustEndCleanly()
}
