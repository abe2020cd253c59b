package timeline

import "testing"

// TestObstacles checks the obstacles of Events whose texts come from different runtimes.
func TestObstacles(t *testing.T) {
	const sandbox, status = "FailedCreatePodSandBox", "Failed to create pod sandbox: rpc error: code = Unknown desc = "
	const runc = status + `failed to start sandbox "9f": failed to create containerd task: failed to create shim ` +
		"task: OCI runtime create failed: runc create failed: unable to start container process: "
	for _, test := range []struct {
		reason, message string
		want            obstacle
	}{
		{sandbox, runc + "container init was OOM-killed (memory limit too low?): unknown", obstacleSandboxMemory},
		{sandbox, status + "container create failed: OOM: the memory limit could be too low", obstacleSandboxMemory},
		{sandbox, status + "pod set memory limit 1048576 too low; should be at least 12582912", obstacleSandboxMemory},
		{sandbox, runc + "error during container init: open /proc/sys/net/x: no such file or directory: unknown",
			obstacleSandbox},
		{sandbox, runc + "unable to apply cgroup configuration: unknown", obstacleSandbox},
		{sandbox, status + "failed to create containerd container: write /x: no space left on device",
			obstacleSandboxRuntime},
		{sandbox, "Failed to create pod sandbox: rpc error: code = Unavailable desc = error reading from server: EOF",
			obstacleSandboxRuntime},
		{sandbox, "Failed to create pod sandbox: write /x: no space left on device", obstacleSandboxUnknown},
		{sandbox, status + `[failed to set up sandbox container "9f" network for pod "app": networkPlugin cni failed]`,
			obstacleSandboxNetwork},
		{sandbox, status + `failed pulling image "registry.k8s.io/pause:3.10": no such host`, obstacleSandboxImage},
		{"Failed", "error making pod data directories: mkdir /x: no space left on device", obstaclePodSetup},
		{"FailedSync", "error determining status: no", obstacleOther},
	} {
		if got, ok := obstacleOf(test.reason, test.message); got != test.want || !ok {
			t.Errorf("%s %q: %d %v, want %d", test.reason, test.message, got, ok, test.want)
		}
	}
}

// TestHarmlessFailures checks that the agent ignores Events about failures that do not stop a start-up.
func TestHarmlessFailures(t *testing.T) {
	for reason, message := range map[string]string{
		"FailedToRetrieveImagePullSecret": "Unable to retrieve some image pull secrets (regcred); attempting to pull " +
			"the image may not succeed.",
		"FailedScheduling": "0/3 nodes are available: 3 Insufficient cpu.",
		"Failed":           `Failed to pull image "x": no`,
		"BackOff":          "Back-off restarting failed container",
	} {
		if got, ok := obstacleOf(reason, message); ok {
			t.Errorf("%s: obstacle %d", reason, got)
		}
	}
}
