package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/podlapse/podlapse/internal/agents/agentstest"
	"github.com/podlapse/podlapse/internal/cli"
	"github.com/podlapse/podlapse/internal/critest"
	"github.com/podlapse/podlapse/internal/podwatchtest"
	"github.com/podlapse/podlapse/internal/startuptest"
	"github.com/podlapse/podlapse/internal/transition/transitiontest"
	"github.com/podlapse/podlapse/pkg/api"
)

func TestAgentReportsStartUp(t *testing.T) {
	cluster := podwatchtest.Start(t)
	pod := web0(time.Now().Add(-3 * time.Second))
	cluster.Put(pod)
	runtime := critest.Start(t, filepath.Join(t.TempDir(), "cri.sock"), critest.Options{})
	runtime.PutImage("registry.example/web:2", 20<<20)
	agent := start(t, "--kubeconfig", agentstest.Kubeconfig(t, cluster.URL()), "--cri-endpoint", runtime.Endpoint())

	agent.pollUntil("/readyz?verbose", "[+]cri ok")
	agent.pollUntil("/readyz?verbose", "[+]pod_watch ok")
	agent.pollUntil("/api/v1/pods/shop/web-0", `"state":"starting"`)

	now := time.Now()
	before := func(d time.Duration) time.Time { return now.Add(-d) }
	runtime.PutSandbox(critest.Sandbox{ID: "s1", PodUID: "uid-web-0", CreatedAt: before(300 * time.Millisecond)})
	runtime.StoreSandbox("s1",
		critest.Stamps{CreatedAt: before(500 * time.Millisecond), UpdatedAt: before(200 * time.Millisecond)})
	runtime.PutContainer(critest.Container{
		ID: "c1", SandboxID: "s1", PodUID: "uid-web-0", Name: "app",
		CreatedAt: before(100 * time.Millisecond), StartedAt: now,
	})
	cluster.Put(readyPod(pod, now))

	line, err := agent.records.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	var record api.Record
	if err := json.Unmarshal([]byte(line), &record); err != nil {
		t.Fatal(err)
	}
	var sum api.Seconds
	for _, phase := range record.Phases {
		sum += phase.Length
	}
	if record.Name != "web-0" || record.State != "ready" || sum != record.Total || len(record.Conflicts) > 0 ||
		record.Total.Duration() < 2*time.Second {
		t.Errorf("phases sum to %s, not to the total, in %s", sum, line)
	}
	if _, body := agent.get("/api/v1/pods/shop/web-0"); body != line {
		t.Errorf("the API returns\n%sbut standard output has\n%s", body, line)
	}
	// the agent counts a record after it has written the record
	agent.pollMatch("/metrics", `podlapse_sink_sent_total\{sink="records"\} 1`)
	_, metrics := agent.get("/metrics")
	for _, want := range []string{
		"podlapse_pod_startup_duration_seconds_count 1\n",
		`podlapse_source_up{source="pod_watch"} 1`, `podlapse_source_up{source="event_watch"} 1`,
		`podlapse_source_up{source="cri"} 1`, "podlapse_sink_dropped_total{sink=\"records\"} 0\n",
		"podlapse_event_watch_open_seconds_total ", "podlapse_events_used_total 0\n",
		"podlapse_build_info{", "go_goroutines",
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("metrics lack %q", want)
		}
	}
	agent.mustEndCleanly()
	if rest, err := io.ReadAll(agent.records); err != nil || len(rest) > 0 {
		t.Errorf("unexpected text on standard output: %q, %v", rest, err)
	}
}

// The agent writes a start-up in both record formats, while the start-up is in progress and when it is over.
func TestAgentWritesBothRecordKindsDuringStartUp(t *testing.T) {
	cluster := podwatchtest.Start(t)
	pod := web0(time.Now().Add(-3 * time.Second))
	pod.Labels = map[string]string{"app.kubernetes.io/name": "web", "app": "must not be reported"}
	cluster.Put(pod)
	agent := start(
		t,
		"--kubeconfig",
		agentstest.Kubeconfig(t, cluster.URL()),
		"--cri-endpoint",
		"off",
		"--records",
		"both",
		"--records-partial",
	)
	var timelines, transitions []string
	next := func(want ...string) {
		t.Helper()
		line, err := agent.records.ReadString('\n')
		if strings.HasPrefix(line, `{"kube_transition_metrics":`) {
			transitions = append(transitions, line)
		} else {
			timelines = append(timelines, line)
		}
		for _, w := range want {
			if err != nil || !strings.Contains(line, w) || strings.Contains(line, "not to be told") {
				t.Fatalf("%v, no %q in %s", err, w, line)
			}
		}
	}
	next(`"state":"starting","partial":true`)
	next(`"type":"pod","partial":true`, `"kube_app_name":"web"`)
	next(`"type":"container","partial":true`, `"short_image":"web"`)
	cluster.Delete(pod) // the start-up settles immediately, because no evidence can be late
	next(`"state":"deleted","created_at"`)
	next(`"type":"pod","partial":false`)
	next(`"type":"container","partial":false`)
	agent.pollUntil("/metrics", "podlapse_sink_sent_total{sink=\"records\"} 2\n")
	agent.mustEndCleanly()
	if rest, err := io.ReadAll(agent.records); err != nil || len(rest) > 0 {
		t.Errorf("unexpected text on standard output: %q, %v", rest, err)
	}
	for _, line := range timelines {
		startuptest.TimelineSchema(t).Check(t, []byte(line))
	}
	for _, line := range transitions {
		transitiontest.Schema(t).Check(t, []byte(line))
	}
}

// If an agent stops right after a start-up, the start-up still waits for late evidence. The agent must write the record
// anyway.
func TestAgentStoppedRightAfterStartUpWritesItsRecord(t *testing.T) {
	cluster := podwatchtest.Start(t)
	pod := web0(time.Now().Add(-3 * time.Second))
	cluster.Put(pod)
	agent := start(t, "--kubeconfig", agentstest.Kubeconfig(t, cluster.URL()), "--cri-endpoint",
		"unix://"+filepath.Join(t.TempDir(), "never.sock"))
	agent.pollUntil("/api/v1/pods/shop/web-0", `"state":"starting"`)
	cluster.Put(readyPod(pod, time.Now()))
	agent.pollUntil("/api/v1/pods/shop/web-0", `"state":"ready"`)
	agent.mustEndCleanly()
	rest, err := io.ReadAll(agent.records)
	if err != nil || strings.Count(string(rest), "\n") != 1 || !strings.Contains(string(rest), `"name":"web-0"`) {
		t.Errorf("standard output got %q, %v; want one record", rest, err)
	}
}

func TestAgentWaitsForServerAndRuntime(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "cri.sock")
	agent := start(
		t,
		"--kubeconfig",
		agentstest.Kubeconfig(t, "http://"+agentstest.ClosedAddress(t)),
		"--cri-endpoint",
		"unix://"+socket,
	)
	agent.pollUntil("/readyz?verbose", "refused")
	status, body := agent.get("/readyz?verbose")
	for _, want := range []string{"[-]pod_watch down since", "[+]event_watch ok", "[-]cri down since",
		"readyz check failed"} {
		if status != http.StatusServiceUnavailable || !strings.Contains(body, want) {
			t.Errorf("readyz %d, no %q in\n%s", status, want, body)
		}
	}
	if status, _ := agent.get("/livez"); status != http.StatusOK {
		t.Errorf("livez %d", status)
	}
	if _, body := agent.get("/api/v1/pods"); body != "{\"items\":[]}\n" {
		t.Errorf("pods: %s", body)
	}
	critest.Start(t, socket, critest.Options{})
	agent.pollUntil("/readyz?verbose", "[+]cri ok")
	agent.mustEndCleanly()
}

func TestAgentWithoutRuntimeOrRecords(t *testing.T) {
	cluster := podwatchtest.Start(t)
	agent := start(
		t,
		"--kubeconfig",
		agentstest.Kubeconfig(t, cluster.URL()),
		"--cri-endpoint",
		"off",
		"--records",
		"none",
	)
	agent.pollUntil("/readyz", "ok")
	if _, body := agent.get("/readyz?verbose"); strings.Contains(body, "cri") {
		t.Errorf("a disabled source appears in\n%s", body)
	}
	agent.mustEndCleanly()
}

// Without a runtime, the agent would request the pod's Events. --events=off must prevent these requests.
func TestAgentWithoutEvents(t *testing.T) {
	cluster := podwatchtest.Start(t)
	pod := web0(time.Now().Add(-3 * time.Second))
	cluster.Put(pod)
	agent := start(t, "--kubeconfig", agentstest.Kubeconfig(t, cluster.URL()), "--cri-endpoint", "off", "--events",
		"off")
	agent.pollUntil("/readyz", "ok")
	if _, body := agent.get("/readyz?verbose"); strings.Contains(body, "event_watch") {
		t.Errorf("a disabled source appears in\n%s", body)
	}
	agent.pollUntil("/api/v1/pods/shop/web-0", `"state":"starting"`)
	cluster.Put(readyPod(pod, time.Now()))
	if line, err := agent.records.ReadString('\n'); err != nil || !strings.Contains(line, `"state":"ready"`) {
		t.Errorf("record %q, %v", line, err)
	}
	if _, metrics := agent.get("/metrics"); strings.Contains(metrics, "podlapse_event_watch") ||
		strings.Contains(metrics, "podlapse_events_received") {
		t.Errorf("Events are off but have a metric")
	}
	agent.mustEndCleanly()
	for _, request := range cluster.Requests() {
		if strings.Contains(request, "events") {
			t.Errorf("unexpected request %q", request)
		}
	}
}

func TestAgentWatchesEventsOfTheCluster(t *testing.T) {
	cluster := podwatchtest.Start(t)
	cluster.Put(web0(time.Now().Add(-time.Second)))
	agent := start(
		t,
		"--kubeconfig",
		agentstest.Kubeconfig(t, cluster.URL()),
		"--cri-endpoint",
		"off",
		"--events",
		"cluster",
	)
	agent.pollUntil("/metrics", "podlapse_event_watches_open 1\n")
	agent.mustEndCleanly()
	if got := cluster.Requests(); !slices.Contains(got, "watch /api/v1/events source=kubelet") {
		t.Errorf("requests %q", got)
	}
}

func TestAgentFailsToStart(t *testing.T) {
	taken := start(
		t,
		"--kubeconfig",
		agentstest.Kubeconfig(t, "http://"+agentstest.ClosedAddress(t)),
		"--cri-endpoint",
		"off",
	)
	busy := strings.TrimPrefix(taken.base, "http://")
	for name, test := range map[string]struct {
		flags []string
		want  []string
		exit  int // if zero, cli.ExitFailed
	}{
		"no kubeconfig": {
			[]string{"--kubeconfig", "/does/not/exist"}, []string{"--kubeconfig", "/does/not/exist"}, cli.ExitUsage,
		},
		"an invalid kubeconfig": {
			[]string{"--kubeconfig", "/proc/self/cmdline"}, []string{"--kubeconfig"}, cli.ExitUsage,
		},
		"outside a cluster": {nil, []string{"--kubeconfig", "in-cluster"}, cli.ExitUsage},
		"a recording in a missing directory": {
			[]string{"--kubeconfig", agentstest.Kubeconfig(t, "http://"+agentstest.ClosedAddress(t)),
				"--record-observations", "/does/not/exist"},
			[]string{"--record-observations", "/does/not/exist", "check that the directory exists"}, 0,
		},
		"a recording to another file": {
			[]string{"--kubeconfig", agentstest.Kubeconfig(t, "http://"+agentstest.ClosedAddress(t)),
				"--record-observations", agentstest.Kubeconfig(t, "")},
			[]string{"--record-observations", "does not begin with a valid header of a recording"}, 0,
		},
		"a state directory that cannot be created": {
			[]string{"--kubeconfig", agentstest.Kubeconfig(t, "http://"+agentstest.ClosedAddress(t)), "--state-dir",
				"/proc/none"},
			[]string{"--state-dir /proc/none", "create the directory manually"}, 0,
		},
		"a state directory that cannot be written": {
			[]string{"--kubeconfig", agentstest.Kubeconfig(t, "http://"+agentstest.ClosedAddress(t)), "--state-dir",
				"/proc"},
			[]string{"--state-dir /proc", "writable for the agent's user"}, 0,
		},
		"a busy port": {
			[]string{"--kubeconfig", agentstest.Kubeconfig(t, "http://"+agentstest.ClosedAddress(t)),
				"--listen-address", busy},
			[]string{"--listen-address " + busy + ": ", "address already in use: stop the process that " +
				"listens on this address, or choose another address"}, 0,
		},
	} {
		command := exec.CommandContext(t.Context(), os.Args[0],
			append([]string{"run", "--node-name", "node-a", "--cri-endpoint", "off"}, test.flags...)...)
		command.Env = agentEnvironment()
		output, err := command.CombinedOutput()
		var exit *exec.ExitError
		if want := cmp.Or(test.exit, cli.ExitFailed); !errors.As(err, &exit) || exit.ExitCode() != want {
			t.Errorf("%s: exited with %v, want exit %d", name, err, want)
		}
		for _, want := range test.want {
			if !strings.Contains(string(output), want) {
				t.Errorf("%s: no %q in %s", name, want, output)
			}
		}
	}
	taken.mustEndCleanly()
}
