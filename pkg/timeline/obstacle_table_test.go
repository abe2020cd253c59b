package timeline

import "testing"

// TestObstacles checks the obstacles of Events whose texts come from different runtimes.
func TestObstacles(t *testing.T) {
	const sandbox, status = "FailedCreatePodSandBox", "Failed to create pod sandbox: rpc error: code = Unknown desc = "
	const runc = status + `failed to start sandbox "9f": failed to create containerd task: failed to create shim ` +
		"task: OCI runtime create failed: runc create failed: unable to start container process: "
	const crio = status + `creating pod sandbox with name "k8s_app_ns_uid_0": `
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
		{sandbox, crio + "initializing source docker://registry.k8s.io/pause:3.10: pinging container registry " +
			`registry.k8s.io: Get "https://registry.k8s.io/v2/": dial tcp 10.0.0.1:443: i/o timeout`,
			obstacleSandboxImage},
		{sandbox, status + `error creating pod sandbox with name "k8s_a_b_c_0": Error initializing source ` +
			"docker://k8s.gcr.io/pause:3.2: error pinging docker registry k8s.gcr.io: Get https://k8s.gcr.io/v2/: " +
			"context deadline exceeded", obstacleSandboxImage},
		{sandbox, crio + "initializing source docker://r/pause:3: reading manifest 3 in r/pause: manifest unknown",
			obstacleSandboxImage},
		{sandbox, crio + `writing blob: storing blob to file "/var/tmp/1": happened during read: unexpected EOF`,
			obstacleSandboxImage},
		{sandbox, crio + `writing blob: storing blob to file "/var/tmp/1": write /var/tmp/1: no space left on device`,
			obstacleSandboxStorage},
		{sandbox, crio + `initializing source docker://r/pause:3: loading registries configuration "/etc/x": no`,
			obstacleSandboxStorage},
		{sandbox, crio + "could not find enough available IDs", obstacleSandboxStorage},
		{sandbox, crio + "mkdir /var/lib/containers/storage/overlay/9f: no space left on device",
			obstacleSandboxRuntime},
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
