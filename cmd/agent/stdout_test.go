package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podlapse/podlapse/internal/agents/agentstest"
	"github.com/podlapse/podlapse/internal/cli"
	"github.com/podlapse/podlapse/internal/podwatchtest"
	"github.com/podlapse/podlapse/pkg/api"
)

func TestWatchReader(t *testing.T) {
	reader, writer := pipe(t)
	file, err := os.Create(filepath.Join(t.TempDir(), "records"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if readerGone(writer) || readerGone(file) || readerGone(null) {
		t.Error("an open reader is reported as closed")
	}
	fill(t, writer)
	if readerGone(writer) {
		t.Error("a slow reader is reported as closed")
	}
	ended := make(chan error, 1)
	go func() { ended <- watchReader(writer, time.Millisecond)(t.Context()) }()
	reader.Close()
	if err := <-ended; !errors.Is(err, syscall.EPIPE) || !strings.Contains(err.Error(), "standard output") {
		t.Errorf("ended with %v", err)
	}

	ctx, stop := context.WithCancel(t.Context())
	go func() { ended <- watchReader(new(bytes.Buffer), time.Millisecond)(ctx) }()
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// If standard output is closed, Go's runtime opens /dev/null instead. Users can also redirect standard output to
// /dev/null on purpose.
func TestAgentWarnsWhenStandardOutputIsClosed(t *testing.T) {
	_, writer := pipe(t)
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	zero, err := os.Open("/dev/zero")
	if err != nil {
		t.Fatal(err)
	}
	defer zero.Close()
	if !isDevNull(null) || isDevNull(zero) || isDevNull(writer) || isDevNull(new(bytes.Buffer)) {
		t.Error("/dev/null is not distinguished from other files")
	}
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0") // a busy port makes the agent exit
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for stdout, warned := range map[string]bool{
		">&-": true, ">/dev/null": true, "--records=none >&-": false, "| cat": false,
	} {
		var stderr bytes.Buffer
		agent := exec.CommandContext(t.Context(), "sh", "-c", `"$0" "$@" `+stdout, os.Args[0], "run", "--node-name",
			"node-a",
			"--listen-address", taken.Addr().String(), "--kubeconfig",
			agentstest.Kubeconfig(t, agentstest.ClosedAddress(t)), "--cri-endpoint", "off")
		agent.Env, agent.Stderr = append(agentEnvironment(), "PATH="+os.Getenv("PATH")), &stderr
		_ = agent.Run()
		if got := strings.Contains(stderr.String(), "the agent discards records"); got != warned ||
			!strings.Contains(stderr.String(), "address already in use") {
			t.Errorf("%s: warned %t, want %t: %s", stdout, got, warned, &stderr)
		}
	}
}

// No pod starts, so the agent writes nothing.
func TestIdleAgentStopsWhenReaderIsGone(t *testing.T) {
	cluster := podwatchtest.Start(t)
	agent := start(t, "--kubeconfig", agentstest.Kubeconfig(t, cluster.URL()), "--cri-endpoint", "off", "--events",
		"off")
	agent.pollUntil("/readyz", "ok")
	agent.stdout.Close()
	began := time.Now()
	reason := fmt.Sprint(agent.awaitLog("agent failed")["error"])
	if !strings.Contains(reason, "standard output") || !strings.Contains(reason, "broken pipe") {
		t.Errorf("the agent logged %q", reason)
	}
	if state, took := agent.wait(), time.Since(began); state.ExitCode() != cli.ExitFailed ||
		took > readerLooks+5*time.Second {
		t.Errorf("exited with %s after %s", state, took)
	}
}

// A reader that starts late and reads a few bytes at a time gets whole lines, one for each start-up.
func TestAgentWritesWholeLinesToSlowReader(t *testing.T) {
	const pods = 400 // more records than fit into a pipe
	cluster := podwatchtest.Start(t)
	agent := start(t, "--kubeconfig", agentstest.Kubeconfig(t, cluster.URL()), "--cri-endpoint", "off", "--events",
		"off")
	agent.pollUntil("/readyz", "ok")
	for i := range pods {
		pod := web0(time.Now().Add(-3 * time.Second))
		pod.Name, pod.UID = fmt.Sprint("web-", i), types.UID(fmt.Sprint("uid-web-", i))
		cluster.Put(pod)
		cluster.Delete(pod) // the start-up settles immediately, because no evidence can be late
	}
	agent.pollUntil("/metrics", fmt.Sprintf("podlapse_pod_startups_total{state=\"deleted\"} %d\n", pods))
	agent.pollMatch("/metrics", `podlapse_sink_queue_length{sink="records"} [1-9]`) // the pipe is full
	var got []byte
	for piece := make([]byte, 777); bytes.Count(got, []byte("\n")) < pods; {
		n, err := agent.stdout.Read(piece)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, piece[:n]...)
	}
	names := map[string]bool{}
	for line := range bytes.Lines(got) {
		var record api.Record
		if err := json.Unmarshal(line, &record); err != nil {
			t.Fatalf("truncated line: %v in %.200s", err, line)
		}
		names[record.Name] = true
	}
	if len(names) != pods {
		t.Errorf("got records of %d pods, want %d", len(names), pods)
	}
	agent.mustEndCleanly()
}

func TestAgentWithoutRecordsNeedsNoReader(t *testing.T) {
	cluster := podwatchtest.Start(t)
	agent := start(t, "--kubeconfig", agentstest.Kubeconfig(t, cluster.URL()), "--cri-endpoint", "off", "--events",
		"off", "--records", "none")
	agent.stdout.Close()
	time.Sleep(readerLooks + 100*time.Millisecond)
	agent.pollUntil("/readyz", "ok")
	agent.mustEndCleanly()
}
