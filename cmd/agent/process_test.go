package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podlapse/podlapse/internal/agents/agentstest"
	"github.com/podlapse/podlapse/internal/cli"
)

// asAgent makes the test binary run as the agent, so that signals and broken pipes are real.
const asAgent = "PODLAPSE_TEST_AS_AGENT"

// agentEnvironment returns the environment of an agent's process. With GORACE, the race detector does not wait a
// second before the exit.
func agentEnvironment() []string {
	environment := []string{asAgent + "=1", "GORACE=atexit_sleep_ms=0"}
	for _, variable := range os.Environ() { // variables that a test has set
		if strings.HasPrefix(variable, "OTEL_") {
			environment = append(environment, variable)
		}
	}
	return environment
}

func TestMain(m *testing.M) {
	if os.Getenv(asAgent) != "" {
		main()
		return
	}
	goleak.VerifyTestMain(m)
}

// runAsAgent runs the program as podlapse-agent.
func runAsAgent(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	return runAs(ctx, cli.AgentProgram, args, getenv, stdout, stderr)
}

// process is an agent in a separate process.
type process struct {
	t       testing.TB
	cmd     *exec.Cmd
	base    string // base URL of the agent's HTTP server
	records *bufio.Reader
	stdout  *os.File    // read end
	logs    chan string // log lines; the capacity is larger than the number of lines in any test
}

// start runs an agent and waits until the agent listens.
func start(t testing.TB, flags ...string) *process {
	t.Helper()
	return startProgram(t, os.Args[0], func(*os.File) {}, flags...)
}

// startWith calls the function "prepare" with the agent's standard output, and then starts the agent.
func startWith(t *testing.T, prepare func(stdout *os.File), flags ...string) *process {
	t.Helper()
	return startProgram(t, os.Args[0], prepare, flags...)
}

// startProgram runs a program as the agent, and waits until the agent listens.
func startProgram(t testing.TB, program string, prepare func(stdout *os.File), flags ...string) *process {
	t.Helper()
	outReader, outWriter := pipe(t)
	errReader, errWriter := pipe(t)
	prepare(outWriter)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	p := &process{t: t, records: bufio.NewReader(outReader), stdout: outReader, logs: make(chan string, 1000)}
	flags = append([]string{"run", "--node-name", "node-a", "--listen-address", "127.0.0.1:0"}, flags...)
	p.cmd = exec.CommandContext(ctx, program, flags...)
	p.cmd.Env = agentEnvironment()
	p.cmd.Stdout, p.cmd.Stderr = outWriter, errWriter
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	outWriter.Close()
	errWriter.Close()
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer close(p.logs)
		for lines := bufio.NewScanner(errReader); lines.Scan(); {
			p.logs <- lines.Text()
		}
	}()
	t.Cleanup(func() {
		cancel()
		_ = p.cmd.Wait() // if the test failed before its own call of Wait
		<-read
		http.DefaultClient.CloseIdleConnections()
	})
	p.base = "http://" + p.awaitLog("starting podlapse agent")["address"].(string)
	return p
}

// pipe returns a pipe. At the end of the test, pipe closes both ends.
func pipe(t testing.TB) (reader, writer *os.File) {
	t.Helper()
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		reader.Close()
		writer.Close()
	})
	return reader, writer
}

// awaitLog reads the log up to a message and returns its fields.
func (p *process) awaitLog(message string) map[string]any {
	p.t.Helper()
	for line := range p.logs {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			p.t.Errorf("log line is not JSON: %s", line)
		}
		if fields["message"] == message {
			return fields
		}
	}
	p.t.Fatalf("the agent exited without logging %q", message)
	return nil
}

func (p *process) signal(signal os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(signal); err != nil {
		p.t.Fatal(err)
	}
}

func (p *process) wait() *os.ProcessState {
	p.t.Helper()
	var exit *exec.ExitError
	if err := p.cmd.Wait(); err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	return p.cmd.ProcessState
}

func (p *process) mustEndCleanly() {
	p.t.Helper()
	began := time.Now()
	p.signal(syscall.SIGTERM)
	if state, took := p.wait(), time.Since(began); state.ExitCode() != cli.ExitOK || took > 5*time.Second {
		p.t.Errorf("exited after %s with %s, want exit 0 within 5 s", took, state)
	}
}

func (p *process) get(path string) (int, string) {
	p.t.Helper()
	request, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, p.base+path, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		p.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// pollUntil sends requests until the response contains the wanted text.
func (p *process) pollUntil(path, want string) {
	p.t.Helper()
	p.pollMatch(path, regexp.QuoteMeta(want))
}

// pollMatch sends requests until the response matches a regular expression.
func (p *process) pollMatch(path, want string) {
	p.t.Helper()
	pattern := regexp.MustCompile(want)
	body := ""
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if _, body = p.get(path); pattern.MatchString(body) {
			return
		}
	}
	p.t.Fatalf("%s never returned %q, last response:\n%s", path, want, body)
}

// web0 is a pod with one container that the kubelet has just begun to start.
func web0(createdAt time.Time) *corev1.Pod {
	stamp := metav1.NewTime(createdAt.Truncate(time.Second))
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "web-0", UID: "uid-web-0", CreationTimestamp: stamp,
		},
		Spec: corev1.PodSpec{
			NodeName: "node-a",
			Containers: []corev1.Container{{Name: "app", Image: "registry.example/web:2",
				ImagePullPolicy: corev1.PullIfNotPresent}},
		},
		Status: corev1.PodStatus{
			Phase: corev1.PodPending, StartTime: &stamp,
			Conditions: []corev1.PodCondition{
				{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: stamp},
			},
		},
	}
}

// readyPod returns the pod with its container running and ready.
func readyPod(pod *corev1.Pod, at time.Time) *corev1.Pod {
	pod = pod.DeepCopy()
	stamp := metav1.NewTime(at.Truncate(time.Second))
	pod.Status.Phase = corev1.PodRunning
	for _, condition := range []corev1.PodConditionType{corev1.ContainersReady, corev1.PodReady} {
		pod.Status.Conditions = append(pod.Status.Conditions,
			corev1.PodCondition{Type: condition, Status: corev1.ConditionTrue, LastTransitionTime: stamp})
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "app", Ready: true, Started: new(true),
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: stamp}},
	}}
	return pod
}

func TestRunsOnOneProcessor(t *testing.T) {
	p := start(t, "--cri-endpoint=off", "--kubeconfig", agentstest.Kubeconfig(t, agentstest.ClosedAddress(t)))
	p.pollUntil("/metrics", "\ngo_sched_gomaxprocs_threads 1\n")
	p.mustEndCleanly()
}
