package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podlapse/podlapse/internal/agents/agentstest"
	"github.com/podlapse/podlapse/internal/critest"
	"github.com/podlapse/podlapse/internal/podwatchtest"
	"github.com/podlapse/podlapse/internal/state"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

func TestStateAge(t *testing.T) {
	now := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct{ since, want time.Time }{
		"the first agent":     {time.Time{}, now},
		"a short while":       {now.Add(-time.Minute), now.Add(-time.Minute)},
		"too long to report":  {now.Add(-3 * time.Hour), now.Add(-newsFor)},
		"a clock set forward": {now.Add(time.Hour), now},
	} {
		if got := carriedOn(test.since, now); got != test.want {
			t.Errorf("%s: since %s, want %s", name, got, test.want)
		}
	}
}

// TestKnownUIDs checks that an observation about the runtime does not become a pod without a UID.
func TestKnownUIDs(t *testing.T) {
	s := savedState{left: state.Contents{Reported: []string{"a"}, InFlight: []timeline.Observation{
		timeline.RuntimeSilent{}, timeline.PodSeen{Pod: timeline.Pod{UID: "b"}}, timeline.EventsLost{UID: "b"},
	}}}
	if got := s.knownUIDs(); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("got %q", got)
	}
}

// collectRecords reads records until standard output is closed, so that the pipe never fills. The returned function
// waits for the end and returns the records.
func (p *process) collectRecords() func() []api.Record {
	var records []api.Record
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			line, err := p.records.ReadBytes('\n')
			if err == io.EOF {
				return
			}
			var r api.Record
			if err != nil || json.Unmarshal(line, &r) != nil {
				p.t.Errorf("unexpected text on standard output: %q, %v", line, err)
				return
			}
			records = append(records, r)
		}
	}()
	return func() []api.Record {
		<-ended
		return records
	}
}

// numbered returns the pod of web0 with a number in its name.
func numbered(n int, createdAt time.Time) *corev1.Pod {
	pod := web0(createdAt)
	pod.Name = fmt.Sprintf("web-%d", n)
	pod.UID = types.UID("uid-" + pod.Name)
	return pod
}

// TestAgentKilledWhilePodsStart kills agents, one after the other, while pods start and while no pod starts. The
// records of all pods must be the same as the records of a single agent.
func TestAgentKilledWhilePodsStart(t *testing.T) {
	cluster := podwatchtest.Start(t)
	runtime := critest.Start(t, filepath.Join(t.TempDir(), "cri.sock"), critest.Options{})
	runtime.PutImage("registry.example/web:2", 20<<20)
	flags := []string{"--kubeconfig", agentstest.Kubeconfig(t, cluster.URL()), "--cri-endpoint", runtime.Endpoint(),
		"--state-dir", filepath.Join(t.TempDir(), "state")}
	var records []api.Record
	const kills = 8
	number := 0
	var starting *corev1.Pod
	step := func() { // a pod starts, and the previous pod becomes ready
		if number > 0 {
			pod, now := starting, time.Now()
			id := "c" + pod.Name
			runtime.PutSandbox(critest.Sandbox{ID: "s" + id, PodUID: string(pod.UID),
				CreatedAt: now.Add(-9 * time.Millisecond)})
			runtime.StoreSandbox("s"+id,
				critest.Stamps{CreatedAt: now.Add(-10 * time.Millisecond), UpdatedAt: now.Add(-8 * time.Millisecond)})
			runtime.PutContainer(critest.Container{ID: id, SandboxID: "s" + id, PodUID: string(pod.UID), Name: "app",
				CreatedAt: now.Add(-7 * time.Millisecond), StartedAt: now})
			cluster.Put(readyPod(pod, now))
		}
		starting = numbered(number, time.Now())
		cluster.Put(starting)
		number++
		time.Sleep(20 * time.Millisecond) // longer than the start of the sandbox and the container
	}
	for i := range kills {
		agent := start(t, flags...)
		written := agent.collectRecords()
		if i%2 == 0 {
			agent.pollUntil("/readyz", "ok")
		}
		step()
		// the test kills each agent at a different moment of the start-up
		time.Sleep(time.Duration(i) * 40 * time.Millisecond)
		if err := agent.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		agent.wait()
		records = append(records, written()...)
		step()
	}
	agent := start(t, flags...)
	written := agent.collectRecords()
	step()
	for n := range number - 1 {
		// When an agent stops, it reports completed start-ups with the evidence so far. So the test waits for the
		// runtime's response.
		agent.pollMatch(fmt.Sprintf("/api/v1/pods/shop/web-%d", n), `"state":"ready".*"phase":"container_start"`)
	}
	agent.pollUntil("/readyz?verbose", "[+]state ok")
	_, metrics := agent.get("/metrics")
	if !strings.Contains(metrics, "podlapse_state_dropped_total 0\n") || strings.Contains(metrics, `source="state"`) {
		t.Error("metrics of the state are missing")
	}
	agent.mustEndCleanly()
	records = append(records, written()...)

	checkReadyRecords(t, records, number-1)
	t.Logf("%d pods, %d records, %d kills", number, len(records), kills)

	// After a clean stop, the next agent has nothing to report.
	agent = start(t, flags...)
	written = agent.collectRecords()
	agent.pollUntil("/readyz", "ok")
	agent.mustEndCleanly()
	if again := written(); len(again) > 0 {
		t.Errorf("reported again: %+v", again)
	}
}

// checkReadyRecords checks that the records concern the given number of pods, and that all pods became ready in 7 ms.
func checkReadyRecords(t *testing.T, records []api.Record, pods int) {
	t.Helper()
	byID := map[string]api.Record{}
	for _, r := range records {
		if _, again := byID[r.ID]; !again {
			byID[r.ID] = r
		}
	}
	if len(byID) != pods {
		t.Errorf("reported %d pods, want %d", len(byID), pods)
	}
	for id, r := range byID {
		phases := map[string]time.Duration{}
		for _, phase := range r.Phases {
			phases[string(phase.Phase)] += phase.Length.Duration()
		}
		if r.State != "ready" || len(r.Conflicts) > 0 ||
			phases["container_start"].Round(time.Millisecond) != 7*time.Millisecond {
			t.Errorf("%s is %s with conflicts %v and phases %v", id, r.State, r.Conflicts, phases)
		}
	}
}

func TestAgentStartsWithDamagedState(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "state.jsonl")
	if err := os.WriteFile(file, []byte("what?\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cluster := podwatchtest.Start(t)
	agent := start(t, "--kubeconfig", agentstest.Kubeconfig(t, cluster.URL()), "--cri-endpoint", "off", "--state-dir",
		dir, "--records", "none")
	agent.pollUntil("/readyz", "ok")
	agent.mustEndCleanly()
	saved, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer saved.Close()
	if line, _, err := bufio.NewReader(saved).ReadLine(); err != nil ||
		!strings.Contains(string(line), `"kind":"state","version":2,"node":"node-a"`) {
		t.Errorf("begins with %s, %v", line, err)
	}
	if bad, err := os.ReadFile(file + ".bad"); err != nil || string(bad) != "what?\n" {
		t.Errorf("set aside: %q, %v", bad, err)
	}
}

// TestAgentStopsWhenStateCannotBeSaved stops the agent after a start-up, before the runtime has responded to the
// agent's request about the pod. Without a state file, the next agent cannot report this start-up. So the stopping
// agent must write the record.
func TestAgentStopsWhenStateCannotBeSaved(t *testing.T) {
	cluster := podwatchtest.Start(t)
	runtime := critest.Start(t, filepath.Join(t.TempDir(), "cri.sock"), critest.Options{})
	dir := t.TempDir()
	agent := start(t, "--kubeconfig", agentstest.Kubeconfig(t, cluster.URL()), "--cri-endpoint", runtime.Endpoint(),
		"--events", "off", "--state-dir", dir)
	written := agent.collectRecords()
	agent.pollUntil("/readyz?verbose", "[+]cri ok")
	file := filepath.Join(dir, "state.jsonl")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(file, 0o700); err != nil { // a file cannot replace a directory
		t.Fatal(err)
	}
	runtime.Fault(critest.Hang)
	pod := web0(time.Now().Add(-3 * time.Second))
	cluster.Put(pod)
	agent.pollUntil("/readyz?verbose", "[-]state")
	cluster.Put(readyPod(pod, time.Now()))
	agent.pollUntil("/api/v1/pods/shop/web-0", `"state":"ready"`)
	agent.mustEndCleanly()
	if records := written(); len(records) != 1 || records[0].State != "ready" {
		t.Errorf("wrote %+v", records)
	}
}
