package cri_test

import (
	"context"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/zap"

	"github.com/podlapse/podlapse/internal/critest"
	"github.com/podlapse/podlapse/internal/runtimeproxy"
)

// throughProxy is the environment variable that makes the test binary start a runtime proxy in front of each
// fake runtime.
const throughProxy = "PODLAPSE_TEST_THROUGH_PROXY"

func init() {
	if os.Getenv(throughProxy) != "" {
		critest.StartProxy = runProxy
	}
}

var (
	proxiedMu sync.Mutex
	proxied   = map[string]bool{} // paths that have a proxy
)

// proxyRuns is the prefix of the log line of each proxy. The first run counts these lines.
const proxyRuns = "a proxy runs in front of"

// runProxy runs a proxy until the test ends, even if the runtime behind the proxy restarts.
func runProxy(t testing.TB, socket, path string) {
	t.Helper()
	proxiedMu.Lock()
	defer proxiedMu.Unlock()
	if proxied[path] {
		return
	}
	proxy, err := runtimeproxy.Listen(runtimeproxy.Config{Runtime: socket, Listen: path, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s %s", proxyRuns, socket)
	proxied[path] = true
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- proxy.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("the proxy: %v", err)
		}
		proxiedMu.Lock()
		defer proxiedMu.Unlock()
		delete(proxied, path)
	})
}

// TestThroughTheProxy runs the tests of this package again with a runtime proxy in front of each fake runtime. A
// source must behave in the same way with and without the proxy.
func TestThroughTheProxy(t *testing.T) {
	if critest.StartProxy != nil {
		t.Skip("this is the second run")
	}
	if testing.Short() {
		t.Skip("a second run takes as long as the first")
	}
	const slow = "TestMissingCapabilitiesAreLoggedOnce" // takes half a minute and tests only logging of the source
	cmd := exec.CommandContext(
		t.Context(),
		os.Args[0],
		"-test.v",
		"-test.run=^Test",
		"-test.skip="+slow,
		"-test.timeout=5m",
	)
	cmd.Env = append(os.Environ(), throughProxy+"=1")
	out, err := cmd.CombinedOutput()
	passed, proxies := strings.Count(string(out), "--- PASS: Test"), strings.Count(string(out), proxyRuns)
	if err != nil || passed < 50 || proxies < 50 {
		t.Errorf("%d tests passed with %d proxies, %v\n%s", passed, proxies, err, failures(string(out)))
	}
}

// testStart is the first line of the verbose output of a test. The name of a subtest contains a slash.
var testStart = regexp.MustCompile(`(?m)^=== RUN +\w+$`)

// failures returns the output of the failed tests, or the whole output if no test reports its failure.
func failures(out string) string {
	var failed strings.Builder
	end := len(out)
	for _, at := range slices.Backward(testStart.FindAllStringIndex(out, -1)) {
		if test := out[at[0]:end]; strings.Contains(test, "--- FAIL: ") {
			failed.WriteString(test)
		}
		end = at[0]
	}
	if failed.Len() == 0 {
		return out
	}
	return failed.String()
}
