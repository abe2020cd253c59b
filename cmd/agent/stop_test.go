package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/podlapse/podlapse/internal/agents/agentstest"
	"github.com/podlapse/podlapse/internal/cli"
	"github.com/podlapse/podlapse/internal/critest"
	"github.com/podlapse/podlapse/internal/podwatchtest"
)

func TestAgentStopsWhileTheServerHangs(t *testing.T) {
	cluster := podwatchtest.Start(t)
	cluster.Hang()
	runtime := critest.Start(t, filepath.Join(t.TempDir(), "cri.sock"), critest.Options{})
	runtime.Fault(critest.Hang)
	agent := start(t, "--kubeconfig", agentstest.Kubeconfig(t, cluster.URL()), "--cri-endpoint", runtime.Endpoint())
	agent.mustEndCleanly()
}

func TestAgentStopsWhenStandardOutputIsClosed(t *testing.T) {
	cluster := podwatchtest.Start(t)
	pod := web0(time.Now().Add(-3 * time.Second))
	cluster.Put(pod)
	agent := start(t, "--kubeconfig", agentstest.Kubeconfig(t, cluster.URL()), "--cri-endpoint", "off")
	agent.pollUntil("/api/v1/pods/shop/web-0", `"state":"starting"`)
	agent.stdout.Close()
	cluster.Delete(pod) // the start-up settles immediately, because no evidence can be late
	reason := fmt.Sprint(agent.awaitLog("agent failed")["error"])
	if !strings.Contains(reason, "standard output") || !strings.Contains(reason, "broken pipe") {
		t.Errorf("the agent logged %q", reason)
	}
	if state := agent.wait(); state.ExitCode() != cli.ExitFailed {
		t.Errorf("exited with %s", state)
	}
}

// startFull starts an agent with one starting pod. The agent's standard output is a full pipe.
func startFull(t *testing.T, flags ...string) (*process, *podwatchtest.Server) {
	t.Helper()
	cluster := podwatchtest.Start(t)
	cluster.Put(web0(time.Now().Add(-3 * time.Second)))
	flags = append([]string{"--kubeconfig", agentstest.Kubeconfig(t, cluster.URL()), "--cri-endpoint", "off"}, flags...)
	return startWith(t, func(stdout *os.File) { fill(t, stdout) }, flags...), cluster
}

// fill writes to a pipe until the pipe is full, without blocking. A deadline for the writes could pass before the first
// write on a busy machine.
func fill(t *testing.T, pipe *os.File) {
	t.Helper()
	raw, err := pipe.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var failure error
	if err := raw.Write(func(fd uintptr) bool {
		for failure == nil {
			_, failure = syscall.Write(int(fd), make([]byte, 64<<10))
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(failure, syscall.EAGAIN) {
		t.Fatalf("fill the pipe: %v", failure)
	}
}

// startStuck starts an agent that cannot finish writing a record, and sends SIGTERM to the agent.
func startStuck(t *testing.T) *process {
	t.Helper()
	agent, cluster := startFull(t)
	agent.pollUntil("/api/v1/pods/shop/web-0", `"state":"starting"`)
	cluster.Delete(web0(time.Now()))
	agent.pollUntil("/api/v1/pods/shop/web-0", `"state":"deleted"`)
	agent.signal(syscall.SIGTERM)
	agent.awaitLog("stopping")
	return agent
}

func TestAgentStopsDespiteStuckReader(t *testing.T) {
	agent := startStuck(t)
	began := time.Now()
	reason := fmt.Sprint(agent.awaitLog("agent failed")["error"])
	if state, took := agent.wait(), time.Since(began); state.ExitCode() != cli.ExitFailed || took > 5*time.Second {
		t.Errorf("exited after %s with %s", took, state)
	}
	if !strings.Contains(reason, `some components of stage "sinks" did not stop within`) {
		t.Errorf("the agent logged %q", reason)
	}
}

func TestSecondSignalStopsAgentAtOnce(t *testing.T) {
	agent := startStuck(t)
	agent.signal(os.Interrupt)
	var last string
	for last = range agent.logs { // the channel closes when the process ends
	}
	if state := agent.wait(); state.ExitCode() != cli.ExitFailed || !strings.Contains(last, "a second signal") {
		t.Errorf("exited with %s; the last log line is %s", state, last)
	}
}
