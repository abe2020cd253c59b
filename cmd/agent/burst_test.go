package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/podlapse/podlapse/internal/agents/agentstest"
	"github.com/podlapse/podlapse/internal/podwatchtest"
)

// The test kills the agent while the pods of a full node start. All pods are ready when the next agent starts. A
// healthy collector must get every trace.
func TestAllTracesAreSentAfterRestartOnFullNode(t *testing.T) {
	const pods = 500
	startCollector(t)
	cluster := podwatchtest.Start(t)
	for i := range pods {
		cluster.Put(numbered(i, time.Now().Add(-3*time.Second)))
	}
	dir := t.TempDir()
	flags := []string{"--kubeconfig", agentstest.Kubeconfig(t, cluster.URL()), "--cri-endpoint", "off", "--events",
		"off", "--state-dir", dir, "--records", recordsTimeline}
	agent := start(t, flags...)
	agent.collectRecords()
	deadline := time.Now().Add(30 * time.Second)
	for saved := 0; saved < pods; time.Sleep(20 * time.Millisecond) {
		file, err := os.ReadFile(filepath.Join(dir, "state.jsonl"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) || time.Now().After(deadline) {
			t.Fatalf("saved %d start-ups, %v", saved, err)
		}
		for saved < pods && strings.Contains(string(file), fmt.Sprintf(`"uid-web-%d"`, saved)) {
			saved++
		}
	}
	agent.signal(syscall.SIGKILL)
	agent.wait()
	for i := range pods {
		cluster.Put(readyPod(numbered(i, time.Now().Add(-5*time.Second)), time.Now()))
	}
	agent = start(t, flags...)
	written := agent.collectRecords()
	sent, dropped := 0.0, 0.0
	deadline = time.Now().Add(30 * time.Second)
	for ; sent+dropped < pods && time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		sent = agent.metric(`podlapse_sink_sent_total{sink="otlp"}`)
		dropped = agent.metric(`podlapse_sink_dropped_total{sink="otlp"}`)
	}
	if sent != pods || dropped != 0 {
		t.Errorf("sent %v traces of %d start-ups, dropped %v", sent, pods, dropped)
	}
	agent.mustEndCleanly()
	if records := written(); len(records) != pods {
		t.Errorf("got %d records of %d start-ups", len(records), pods)
	}
}

// metric returns the value of a series, or 0 if the series does not exist.
func (p *process) metric(series string) (value float64) {
	p.t.Helper()
	_, text := p.get("/metrics")
	for line := range strings.Lines(text) {
		if number, ok := strings.CutPrefix(strings.TrimSpace(line), series+" "); ok {
			value, _ = strconv.ParseFloat(number, 64)
		}
	}
	return value
}
