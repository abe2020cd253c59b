package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
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

// proxyProcess is a runtime proxy in its own process.
type proxyProcess struct {
	cmd *exec.Cmd
	log io.Reader
}

// startProxy starts a proxy and waits until it serves.
func startProxy(t *testing.T, runtime, socket string) proxyProcess {
	t.Helper()
	log, stderr := pipe(t)
	p := proxyProcess{cmd: exec.CommandContext(t.Context(), os.Args[0], runtimeProxyCommand,
		"--cri-endpoint=unix://"+runtime, "--proxy-endpoint=unix://"+socket), log: log}
	p.cmd.Env, p.cmd.Stderr = agentEnvironment(), stderr
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stderr.Close()
	line, err := bufio.NewReader(log).ReadString('\n')
	if err != nil || !strings.Contains(line, "starting runtime proxy") {
		t.Fatalf("the proxy logged %q, %v", line, err)
	}
	return p
}

func (p proxyProcess) end(t *testing.T, signal os.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Wait(); err != nil && signal != syscall.SIGKILL {
		t.Errorf("the proxy: %v", err)
	}
}

// The agent finds the runtime through a proxy, loses the runtime when the proxy stops, and finds the runtime again.
func TestAgentBehindRuntimeProxy(t *testing.T) {
	cluster := podwatchtest.Start(t)
	runtime, socket := filepath.Join(t.TempDir(), "r.sock"), filepath.Join(t.TempDir(), "p.sock")
	fake := critest.Start(t, runtime, critest.Options{})
	agent := start(t, "--kubeconfig", agentstest.Kubeconfig(t, cluster.URL()), "--cri-endpoint", "unix://"+socket)
	agent.pollUntil("/readyz?verbose", "[-]cri down since") // the socket does not exist yet
	proxy := startProxy(t, runtime, socket)
	agent.pollUntil("/readyz?verbose", "[+]cri ok")

	loses := func() { // the agent notices the loss at its next request; a scrape can cause a request
		t.Helper()
		for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(
			100 * time.Millisecond) {
			agent.get("/metrics")
			if _, body := agent.get("/readyz?verbose"); strings.Contains(body, "[-]cri down since") {
				return
			}
		}
		t.Fatal("the agent did not notice that the runtime is unreachable")
	}
	proxy.end(t, syscall.SIGKILL) // the socket file stays
	loses()
	proxy = startProxy(t, runtime, socket)
	agent.pollUntil("/readyz?verbose", "[+]cri ok")

	fake.Stop()
	loses()
	critest.Start(t, runtime, critest.Options{})
	agent.pollUntil("/readyz?verbose", "[+]cri ok")

	_, text := checked(t, "--kubeconfig", agentstest.Kubeconfig(t, cluster.URL()), "--cri-endpoint=unix://"+socket)
	if !strings.Contains(text, "ok       runtime        containerd 2.4.2 at unix://"+socket) {
		t.Error(text)
	}
	agent.mustEndCleanly()
	begun := time.Now()
	proxy.end(t, syscall.SIGTERM)
	if took := time.Since(begun); took > 3*time.Second {
		t.Errorf("the proxy took %s to exit although its clients have disconnected", took)
	}
	if _, err := os.Lstat(socket); err == nil {
		t.Error("the proxy did not remove its socket")
	}
}

func TestRuntimeProxyFlags(t *testing.T) {
	env := environment{}
	try := func(stderr string, args ...string) {
		t.Helper()
		runProgram(t, cli.AgentProgram, env, append([]string{runtimeProxyCommand}, args...)...).
			must(t, cli.ExitUsage, "", stderr)
	}
	try("--cri-endpoint (or CONTAINER_RUNTIME_ENDPOINT) is required")
	for _, value := range []string{"auto", "off", "/run/c.sock", "unix://c.sock", "unix:///a/../b"} {
		try("invalid endpoint", "--cri-endpoint="+value)
		try("--proxy-endpoint: invalid endpoint", "--cri-endpoint=unix:///r.sock", "--proxy-endpoint="+value)
	}
	try("the maximum is 107", "--cri-endpoint=unix:///"+strings.Repeat("x", 200))
	try("choose another path", "--cri-endpoint=unix:///r.sock", "--proxy-endpoint=unix:///r.sock")
	try("unknown flag", "--node-name=a")
	try("unexpected argument", "x", "--cri-endpoint=unix:///r.sock")
	runProgram(t, cli.AgentProgram, env, runtimeProxyCommand, "--help").
		must(t, cli.ExitOK, "--proxy-endpoint unix:///PATH", "")
	runProgram(
		t,
		cli.AgentProgram,
		env,
		"__complete",
		runtimeProxyCommand,
		"--",
	).must(t, cli.ExitOK, "--cri-endpoint\tsocket of the container runtime", "")

	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	runProgram(t, cli.AgentProgram, env, runtimeProxyCommand, "--cri-endpoint=unix:///r.sock",
		"--proxy-endpoint=unix://"+file).
		must(t, cli.ExitFailed, "", "not a socket")
}
