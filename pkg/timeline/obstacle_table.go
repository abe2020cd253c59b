package timeline

import (
	"strings"
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

// obstacle is what prevented a pod's sandbox, according to a kubelet Event.
type obstacle uint8

// The obstacles, in the order of obstacleTable.
const (
	obstacleNetworkNotReady obstacle = iota // the kubelet does not start pods while the runtime's network is not ready
	obstacleMountConfig                     // a ConfigMap, a Secret or a key of a volume is missing
	obstacleMountAPI                        // the API server did not provide the content of a volume
	obstacleMountSync                       // the kubelet does not have the content of a volume yet, if it exists
	obstacleNotRegistered                   // the kubelet does not watch the pod's objects yet, e.g. without a network
	obstacleMount                           // any other failure to mount
	obstaclePodSetup                        // the kubelet could not create the pod's cgroups or directories
	obstacleOther                           // an Event about a failure whose reason is not in this table
	obstacleDevice                          // a driver did not prepare a dynamically allocated resource
	obstacleSandboxNetwork                  // the network plugin failed
	obstacleSandboxImage                    // the sandbox image could not be pulled
	obstacleSandboxConfig                   // the node does not have the runtime that the pod requests
	obstacleSandboxTimeout                  // the runtime did not answer in time, for whatever reason
	obstacleSandbox                         // any other failure to create a sandbox
)

// obstacleRow describes what an obstacle means for the time around its Event.
type obstacleRow struct {
	phases []Phase // what the pod waits for; several if the Event does not separate them
	// before lists the phases that may come between the kubelet's pickup and the first of these Events. An object that
	// was missing at the kubelet's first check had been missing before.
	before []Phase
	// sandbox says that an attempt to create a sandbox failed.
	sandbox bool
	// retry is the longest time to the kubelet's next attempt after the given number of such Events; nil if only the
	// kubelet's next sign dates it.
	retry func(count int) time.Duration
	// retryLeast is the shortest time to the next attempt; nil if unknown.
	retryLeast func(count int) time.Duration
}

// obstacleTable has one row per obstacle, in the order of the constants.
var obstacleTable = [...]obstacleRow{
	obstacleNetworkNotReady: {
		phases: []Phase{PhaseNetwork}, before: []Phase{PhaseNetwork},
		retry:      func(int) time.Duration { return networkRetry },
		retryLeast: func(int) time.Duration { return networkRetryLeast }},
	obstacleMountConfig: {
		phases: []Phase{PhasePodConfig}, before: []Phase{PhasePodConfig}, retry: mountRetry, retryLeast: mountRetry},
	obstacleMountAPI: {
		phases: []Phase{PhaseAPIServer}, before: []Phase{PhaseAPIServer}, retry: mountRetry, retryLeast: mountRetry},
	obstacleMountSync: {
		phases: []Phase{PhaseAPIServer, PhasePodConfig, PhaseKubeletSync},
		before: []Phase{PhaseAPIServer, PhasePodConfig, PhaseKubeletSync}, retry: mountRetry, retryLeast: mountRetry},
	obstacleNotRegistered: {
		phases: []Phase{PhaseNetwork, PhaseKubeletSync}, before: []Phase{PhaseNetwork, PhaseKubeletSync},
		retry: mountRetry, retryLeast: mountRetry},
	obstacleMount: {
		phases: []Phase{PhaseVolumes}, before: []Phase{PhaseVolumes}, retry: mountRetry, retryLeast: mountRetry},
	obstaclePodSetup: {
		phases: []Phase{PhaseKubeletSync, PhaseSandbox}, before: []Phase{PhaseKubeletSync, PhaseSandbox},
		retry: func(int) time.Duration { return podRetry }},
	obstacleOther: {
		phases: []Phase{PhaseVolumes, PhaseKubeletSync, PhaseSandbox},
		before: []Phase{PhaseVolumes, PhaseKubeletSync, PhaseSandbox}},
	obstacleDevice: {
		phases: []Phase{PhaseDevice}, before: []Phase{PhaseVolumes, PhaseDevice},
		retry: func(int) time.Duration { return resync }},
	obstacleSandboxNetwork: {
		phases: []Phase{PhaseNetwork}, before: []Phase{PhaseVolumes, PhaseNetwork}, sandbox: true, retry: afterSandbox},
	obstacleSandboxImage: {
		phases: []Phase{PhaseSandboxImage}, before: []Phase{PhaseVolumes, PhaseNetwork, PhaseSandboxImage},
		sandbox: true,
		retry:   afterSandbox},
	obstacleSandboxConfig: {
		phases: []Phase{PhasePodConfig}, before: []Phase{PhaseVolumes, PhasePodConfig}, sandbox: true,
		retry: afterSandbox},
	obstacleSandboxTimeout: {
		phases:  []Phase{PhaseNetwork, PhaseSandboxImage, PhaseSandbox},
		before:  []Phase{PhaseVolumes, PhaseNetwork, PhaseSandboxImage, PhaseSandbox},
		sandbox: true, retry: afterSandbox},
	obstacleSandbox: {
		phases: []Phase{PhaseSandbox}, before: []Phase{PhaseVolumes, PhaseNetwork, PhaseSandboxImage, PhaseSandbox},
		sandbox: true, retry: afterSandbox},
}

// possibleObstacles lists the phases that may have delayed a pod, apart from its volumes, if no Event watch was open.
var possibleObstacles = []Phase{PhaseNetwork, PhaseAPIServer, PhasePodConfig, PhaseSandboxImage, PhaseSandbox}

const (
	// networkRetry is the longest time until the kubelet checks again whether the network is ready
	// (pkg/kubelet/pod_workers.go, backOffOnTransientErrorPeriod with its jitter, and a queue that is checked once a
	// second).
	networkRetry = 2500 * time.Millisecond
	// networkRetryLeast is the shortest (backOffOnTransientErrorPeriod without jitter).
	networkRetryLeast = time.Second
	// networkPoll is how often the kubelet asks the runtime whether its network is ready (pkg/kubelet,
	// updateRuntimeUp).
	networkPoll = 5 * time.Second
	// podRetry and podRetryLeast are the longest and the shortest time until the kubelet retries a pod that it could
	// not start (pkg/kubelet/pod_workers.go, backOffPeriod with its jitter, and a queue that is checked once a second).
	// resync is the longest time until the kubelet syncs a pod without a known failure.
	podRetry      = 16 * time.Second
	podRetryLeast = 10 * time.Second
	resync        = 90 * time.Second
	// mountRetryFirst and mountRetryMost bound the kubelet's back-off for a volume that it could not mount
	// (pkg/util/goroutinemap/exponentialbackoff).
	mountRetryFirst = 500 * time.Millisecond
	mountRetryMost  = 2*time.Minute + 2*time.Second
	// retrySlack is the time from the end of an obstacle to the kubelet's request for the sandbox: it checks volumes
	// ten times a second, and waits for them in steps of 300 ms (pkg/kubelet/volumemanager).
	retrySlack = time.Second
)

// mountRetry is the kubelet's wait after the given number of failures to mount a volume.
func mountRetry(count int) time.Duration {
	wait := mountRetryFirst
	for range count - 1 {
		if wait *= 2; wait >= mountRetryMost {
			return mountRetryMost
		}
	}
	return wait
}

func afterSandbox(int) time.Duration { return podRetry }

// sandboxTexts are the texts of containerd (internal/cri/server), CRI-O (server/sandbox_run_linux.go) and gRPC that
// identify the failure of a sandbox. The first row that matches counts.
var sandboxTexts = []struct {
	text     string
	obstacle obstacle
}{
	{"failed to setup network for sandbox", obstacleSandboxNetwork},
	{"failed to create network namespace for sandbox", obstacleSandboxTimeout}, // before any plugin is called
	{"failed to create pod network sandbox", obstacleSandboxNetwork},           // CRI-O
	{"failed to get sandbox image", obstacleSandboxImage},
	{"failed to pull image", obstacleSandboxImage}, // containerd 2.1 and later
	{"failed to get image", obstacleSandboxImage},
	{"creating pause image", obstacleSandboxImage}, // CRI-O
	{"no runtime for  is configured", obstacleSandboxConfig},
	{"runtimeclass.node.k8s.io  not found", obstacleSandboxConfig},
	{"failed to find runtime handler", obstacleSandboxConfig}, // CRI-O
	{"deadline exceeded", obstacleSandboxTimeout},
	{"deadlineexceeded", obstacleSandboxTimeout},
	// An attempt that the kubelet no longer waits for is still running.
	{"failed to reserve sandbox name", obstacleSandboxTimeout},
	{"name is reserved", obstacleSandboxTimeout}, // CRI-O
}

// rootCA is the ConfigMap that kube-controller-manager creates in every namespace. The pod is not to blame if it is
// missing.
const rootCA = `configmap "kube-root-ca.crt" not found`

// mountTexts are the texts of the kubelet's volume plugins and managers (pkg/volume, pkg/kubelet/{secret,configmap}).
var mountTexts = []struct {
	text     string
	obstacle obstacle
}{
	{"configmap  not found", obstacleMountConfig},
	{"secret  not found", obstacleMountConfig},
	{"secrets  not found", obstacleMountConfig}, // a CSI driver's
	{"serviceaccounts  not found", obstacleMountConfig},
	{"references non-existent config key", obstacleMountConfig},
	{"references non-existent secret key", obstacleMountConfig},
	{"connection refused", obstacleMountAPI},
	{"no route to host", obstacleMountAPI},
	{"i/o timeout", obstacleMountAPI},
	{"etcdserver: ", obstacleMountAPI},
	{"the server is currently unable to handle the request", obstacleMountAPI},
	{"failed to fetch token", obstacleMountSync},
	// The API server does not know yet that the pod is on this node.
	{"no relationship found between node", obstacleMountSync},
	{"failed to sync configmap cache", obstacleMountSync},
	{"failed to sync secret cache", obstacleMountSync},
}

// obstacleOf reads a kubelet Event; ok is false if it names no obstacle.
func obstacleOf(reason, message string) (o obstacle, ok bool) {
	switch reason {
	case "NetworkNotReady":
		return obstacleNetworkNotReady, true
	case "FailedPrepareDynamicResources":
		return obstacleDevice, true
	case "FailedCreatePodContainer":
		return obstaclePodSetup, true
	case "FailedMount", "FailedMapVolume", "FailedAttachVolume":
		text := imagepull.WithoutQuotes(message)
		switch {
		case strings.HasPrefix(text, "Unable to attach or mount volumes"):
			return 0, false // this Event repeats which volumes are missing, but not why
		case strings.HasSuffix(strings.TrimRight(text, "]"), "not registered"):
			return obstacleNotRegistered, true
		}
		if strings.Contains(message, rootCA) {
			return obstacleMountSync, true
		}
		for _, row := range mountTexts {
			// Network volumes may fail with the same texts.
			if strings.Contains(text, row.text) &&
				(row.obstacle != obstacleMountAPI || strings.Contains(text, "failed to fetch token")) {
				return row.obstacle, true
			}
		}
		return obstacleMount, true
	case "FailedCreatePodSandBox":
		text := strings.ToLower(imagepull.WithoutQuotes(message))
		for _, row := range sandboxTexts {
			if strings.Contains(text, row.text) {
				return row.obstacle, true
			}
		}
		return obstacleSandbox, true
	}
	if strings.HasPrefix(reason, "Failed") && reason != "Failed" {
		return obstacleOther, true
	}
	return 0, false
}
