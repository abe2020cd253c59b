package timeline

import (
	"slices"
	"strings"
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

// obstacle is a problem that prevented the creation of a pod's sandbox, according to a kubelet Event.
type obstacle uint8

// These constants are in the order of obstacleTable.
const (
	obstacleNetworkNotReady obstacle = iota // the kubelet does not start pods while the runtime's network is not ready
	obstacleMountConfig                     // a volume needs a missing ConfigMap, Secret, key or ServiceAccount
	obstacleMountAPI                        // the API server did not provide the content of a volume
	// The kubelet has not received the content of a volume, or the content does not exist.
	obstacleMountSync
	// The kubelet does not watch the pod's ConfigMaps and Secrets yet, for example because the network is not ready.
	obstacleNotRegistered
	obstacleMount          // any other failure to mount a volume
	obstaclePodSetup       // the kubelet could not create the pod's cgroups or directories
	obstacleOther          // any other Event with a reason that begins with Failed, except "Failed" and harmlessReasons
	obstacleDevice         // a driver did not prepare a dynamically allocated resource
	obstacleSandboxNetwork // the network plugin failed
	obstacleSandboxImage   // the sandbox image could not be pulled
	obstacleSandboxStorage // CRI-O could not pull the sandbox image, or could not create the sandbox's file system
	obstacleSandboxClass   // the pod's RuntimeClass does not exist; the kubelet detects this itself
	obstacleSandboxHandler // the runtime does not have the handler of the pod's RuntimeClass
	obstacleSandboxMemory  // the pod's memory limit is too low for the sandbox
	obstacleSandboxTimeout // the runtime was too slow, or could not create a network namespace; the cause is unknown
	obstacleSandboxRuntime // the runtime failed to create a sandbox, and the pod's configuration is not the reason
	// The runtime failed to create a sandbox. The text does not show whether the pod's configuration is the reason.
	obstacleSandbox
	obstacleSandboxKubelet // the kubelet failed before it requested a sandbox
	obstacleSandboxUnknown // the kubelet or the runtime failed to create a sandbox; the text does not show which one
)

// obstacleRow describes how an obstacle explains the time before and after its Event.
type obstacleRow struct {
	// phases lists the possible phases after an Event about this obstacle. If the Event does not show the phase, the
	// list contains several phases.
	phases []Phase
	// earlier lists the possible phases before the first Event about this obstacle and after the kubelet picked up the
	// pod. For example, an object that is missing at the kubelet's first check was also missing before this check.
	earlier []Phase
	// afterImage is true if only containerd 2 reaches this obstacle before it pulls the sandbox image and prepares the
	// sandbox. For other runtimes, phasesBefore adds phases to "earlier".
	afterImage bool
	// sandboxFailed is true if an attempt to create a sandbox failed.
	sandboxFailed bool
	// retry returns the longest time until the kubelet's next attempt. The argument "count" is the number of Events
	// about this obstacle. If this time has no known limit, retry is nil. Then only the kubelet's next Event or status
	// shows the next attempt.
	retry func(count int) time.Duration
	// retryLeast returns the shortest time to the next attempt. retryLeast is nil if the shortest time is unknown.
	retryLeast func(count int) time.Duration
}

// obstacleTable has one row for each obstacle, in the order of the constants.
var obstacleTable = [...]obstacleRow{
	obstacleNetworkNotReady: {
		phases: []Phase{PhaseNetwork}, earlier: []Phase{PhaseNetwork},
		retry:      func(int) time.Duration { return networkRetry },
		retryLeast: func(int) time.Duration { return networkRetryLeast }},
	obstacleMountConfig: {
		phases: []Phase{PhasePodConfig}, earlier: []Phase{PhasePodConfig}, retry: mountRetry, retryLeast: mountRetry},
	obstacleMountAPI: {
		phases: []Phase{PhaseAPIServer}, earlier: []Phase{PhaseAPIServer}, retry: mountRetry, retryLeast: mountRetry},
	obstacleMountSync: {
		phases:  []Phase{PhaseAPIServer, PhasePodConfig, PhaseKubeletSync},
		earlier: []Phase{PhaseAPIServer, PhasePodConfig, PhaseKubeletSync}, retry: mountRetry, retryLeast: mountRetry},
	obstacleNotRegistered: {
		phases: []Phase{PhaseNetwork, PhaseKubeletSync}, earlier: []Phase{PhaseNetwork, PhaseKubeletSync},
		retry: mountRetry, retryLeast: mountRetry},
	obstacleMount: {
		phases: []Phase{PhaseVolumes}, earlier: []Phase{PhaseVolumes}, retry: mountRetry, retryLeast: mountRetry},
	obstaclePodSetup: {
		phases: []Phase{PhaseKubeletSync, PhaseSandbox}, earlier: []Phase{PhaseKubeletSync, PhaseSandbox},
		retry: func(int) time.Duration { return podRetry }},
	obstacleOther: {
		phases:  []Phase{PhaseVolumes, PhaseKubeletSync, PhaseSandbox},
		earlier: []Phase{PhaseVolumes, PhaseKubeletSync, PhaseSandbox}},
	obstacleDevice: {
		phases: []Phase{PhaseDevice}, earlier: []Phase{PhaseVolumes, PhaseDevice},
		retry: func(int) time.Duration { return resync }},
	obstacleSandboxNetwork: {
		phases: []Phase{PhaseNetwork}, earlier: []Phase{PhaseVolumes, PhaseNetwork}, afterImage: true,
		sandboxFailed: true, retry: afterSandbox},
	obstacleSandboxImage: {
		phases: []Phase{PhaseSandboxImage}, earlier: []Phase{PhaseVolumes, PhaseNetwork, PhaseSandboxImage},
		sandboxFailed: true,
		retry:         afterSandbox},
	obstacleSandboxStorage: {
		phases:        []Phase{PhaseSandboxImage, PhaseSandbox, PhasePodConfig},
		earlier:       []Phase{PhaseVolumes, PhaseNetwork, PhaseSandboxImage, PhaseSandbox, PhasePodConfig},
		sandboxFailed: true, retry: afterSandbox},
	obstacleSandboxClass: {
		phases: []Phase{PhasePodConfig}, earlier: []Phase{PhaseVolumes, PhasePodConfig}, sandboxFailed: true,
		retry: afterSandbox},
	obstacleSandboxHandler: {
		phases: []Phase{PhasePodConfig}, earlier: []Phase{PhaseVolumes, PhasePodConfig}, afterImage: true,
		sandboxFailed: true, retry: afterSandbox},
	obstacleSandboxMemory: {
		phases:        []Phase{PhasePodConfig},
		earlier:       []Phase{PhaseVolumes, PhaseNetwork, PhaseSandboxImage, PhaseSandbox, PhasePodConfig},
		sandboxFailed: true, retry: afterSandbox},
	obstacleSandboxTimeout: {
		phases:        []Phase{PhaseNetwork, PhaseSandboxImage, PhaseSandbox},
		earlier:       []Phase{PhaseVolumes, PhaseNetwork, PhaseSandboxImage, PhaseSandbox},
		sandboxFailed: true, retry: afterSandbox},
	obstacleSandboxRuntime: {
		phases: []Phase{PhaseSandbox}, earlier: []Phase{PhaseVolumes, PhaseNetwork, PhaseSandboxImage, PhaseSandbox},
		sandboxFailed: true, retry: afterSandbox},
	obstacleSandbox: {
		phases:        []Phase{PhaseSandbox, PhasePodConfig},
		earlier:       []Phase{PhaseVolumes, PhaseNetwork, PhaseSandboxImage, PhaseSandbox, PhasePodConfig},
		sandboxFailed: true, retry: afterSandbox},
	obstacleSandboxKubelet: {
		phases: []Phase{PhaseKubeletSync}, earlier: []Phase{PhaseVolumes, PhaseKubeletSync}, sandboxFailed: true,
		retry: afterSandbox},
	obstacleSandboxUnknown: {
		phases: []Phase{PhaseKubeletSync, PhasePodConfig, PhaseSandbox},
		earlier: []Phase{
			PhaseVolumes, PhaseKubeletSync, PhasePodConfig, PhaseNetwork, PhaseSandboxImage, PhaseSandbox},
		sandboxFailed: true, retry: afterSandbox},
}

// possibleObstacles lists phases that might have delayed a pod although the agent received no Event about the delay.
// PhaseVolumes is not in the list.
var possibleObstacles = []Phase{PhaseNetwork, PhaseAPIServer, PhasePodConfig, PhaseSandboxImage, PhaseSandbox}

const (
	// networkRetry is the longest time until the kubelet checks the network again (pkg/kubelet/pod_workers.go).
	// networkRetry is backOffOnTransientErrorPeriod with jitter, plus one second, because the kubelet checks its work
	// queue once a second.
	networkRetry = 2500 * time.Millisecond
	// networkRetryLeast is the shortest time until the kubelet checks the network again (backOffOnTransientErrorPeriod
	// without jitter).
	networkRetryLeast = time.Second
	// networkPoll is the interval at which the kubelet asks the runtime whether its network is ready
	// (updateRuntimeUp in pkg/kubelet).
	networkPoll = 5 * time.Second
	// If the kubelet could not start a pod, it retries after podRetryLeast at the earliest and after podRetry at the
	// latest (pkg/kubelet/pod_workers.go). podRetry is backOffPeriod with jitter, plus one second, because the kubelet
	// checks its work queue once a second. If no known failure causes an earlier retry, the kubelet syncs a pod again
	// after resync at the latest.
	podRetry      = 16 * time.Second
	podRetryLeast = 10 * time.Second
	resync        = 90 * time.Second
	// If the kubelet could not mount a volume, mountRetryFirst is its shortest back-off and mountRetryMost its longest
	// back-off (pkg/util/goroutinemap/exponentialbackoff).
	mountRetryFirst = 500 * time.Millisecond
	mountRetryMost  = 2*time.Minute + 2*time.Second
	// retrySlack is the maximum time from the end of an obstacle to the kubelet's request for the sandbox. Every
	// 100 ms, the kubelet's volume manager looks for volumes to mount. Every 300 ms, the kubelet checks whether all
	// volumes are mounted (pkg/kubelet/volumemanager).
	retrySlack = time.Second
)

// mountRetry returns the kubelet's wait after the given number of failures to mount a volume.
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

// sandboxTexts maps error texts to obstacles. The texts come from containerd (internal/cri/server), CRI-O
// (server/sandbox_run_linux.go), cri-dockerd (core/sandbox_run.go), runc (libcontainer), crun and gRPC. The first
// matching row wins.
var sandboxTexts = []struct {
	text     string
	obstacle obstacle
}{
	{"failed to setup network for sandbox", obstacleSandboxNetwork},
	// This error occurs before the runtime calls the network plugin.
	{"failed to create network namespace for sandbox", obstacleSandboxTimeout},
	{"failed to create pod network sandbox", obstacleSandboxNetwork},        // CRI-O
	{"failed to set up sandbox container  network", obstacleSandboxNetwork}, // cri-dockerd
	{"failed to get sandbox image", obstacleSandboxImage},
	{"failed to pull image", obstacleSandboxImage}, // containerd 2.1 and later
	{"failed to get image", obstacleSandboxImage},
	{"creating pause image", obstacleSandboxImage}, // CRI-O
	{"failed pulling image", obstacleSandboxImage}, // cri-dockerd
	{"no runtime for  is configured", obstacleSandboxHandler},
	{"runtimeclass.node.k8s.io  not found", obstacleSandboxClass},
	{"failed to find runtime handler", obstacleSandboxHandler},    // CRI-O
	{"oom-killed (memory limit too low?)", obstacleSandboxMemory}, // runc
	{"memory limit could be too low", obstacleSandboxMemory},      // crun
	{"too low; should be at least", obstacleSandboxMemory},        // CRI-O, about the memory limit
	{"deadline exceeded", obstacleSandboxTimeout},
	{"deadlineexceeded", obstacleSandboxTimeout},
	// The runtime is still working on an earlier attempt, but the kubelet no longer waits for this attempt.
	{"failed to reserve sandbox name", obstacleSandboxTimeout},
	{"name is reserved", obstacleSandboxTimeout}, // CRI-O
}

// runtimeTexts lists texts in errors of the runtime that the pod's configuration cannot cause.
var runtimeTexts = []string{
	"code = unavailable", // the kubelet cannot reach the runtime, or the runtime stopped during the request
	"server is not initialized yet",
	"failed to create sandbox root directory",
	"fork/exec ",           // a program of the runtime does not start
	"unable to start unit", // systemd does not create the cgroup
	"no space left on device",
	"input/output error",
	"too many open files",
}

// kubeletSandboxTexts lists the first words of errors that occur before the kubelet asks the runtime for a sandbox.
// Before the request for a sandbox, the kubelet prepares the log directory, the DNS settings and the user namespace
// (createPodSandbox in pkg/kubelet/kuberuntime).
var kubeletSandboxTexts = []string{
	"mkdir ", "open ", "encountered error while parsing resolv conf file",
	"create user namespace: ", "user namespace: ",
}

// rootCA is the message about the ConfigMap that kube-controller-manager creates in every namespace. The pod is
// not responsible if this ConfigMap is missing.
const rootCA = `configmap "kube-root-ca.crt" not found`

// mountTexts maps messages of the kubelet's volume plugins and managers to obstacles (pkg/volume,
// pkg/kubelet/{secret,configmap}).
var mountTexts = []struct {
	text     string
	obstacle obstacle
}{
	{"configmap  not found", obstacleMountConfig},
	{"secret  not found", obstacleMountConfig},
	{"secrets  not found", obstacleMountConfig}, // a CSI driver writes this text
	{"serviceaccounts  not found", obstacleMountConfig},
	{"references non-existent config key", obstacleMountConfig},
	{"references non-existent secret key", obstacleMountConfig},
	{"connection refused", obstacleMountAPI},
	{"no route to host", obstacleMountAPI},
	{"i/o timeout", obstacleMountAPI},
	{"etcdserver: ", obstacleMountAPI},
	{"the server is currently unable to handle the request", obstacleMountAPI},
	{"failed to fetch token", obstacleMountSync},
	// The API server does not know yet that the pod is bound to this node.
	{"no relationship found between node", obstacleMountSync},
	{"failed to sync configmap cache", obstacleMountSync},
	{"failed to sync secret cache", obstacleMountSync},
}

// harmlessReasons lists reasons that begin with Failed, but do not mean that the kubelet cannot start the pod. The
// kubelet continues without a missing pull secret (getPullSecretsForPod in pkg/kubelet). The scheduler creates
// FailedScheduling Events before the binding.
var harmlessReasons = []string{"FailedToRetrieveImagePullSecret", "FailedScheduling"}

// obstacleOf returns the obstacle that an Event names. ok is false if the Event names no obstacle.
func obstacleOf(reason, message string) (o obstacle, ok bool) {
	switch reason {
	case "NetworkNotReady":
		return obstacleNetworkNotReady, true
	case "FailedPrepareDynamicResources":
		return obstacleDevice, true
	case "FailedCreatePodContainer":
		return obstaclePodSetup, true
	case "Failed": // most of these Events are about containers
		return obstaclePodSetup, strings.HasPrefix(message, "error making pod data directories: ")
	case "FailedMount", "FailedMapVolume", "FailedAttachVolume":
		text := imagepull.WithoutQuotes(message)
		switch {
		case strings.HasPrefix(text, "Unable to attach or mount volumes"):
			return 0, false // this Event lists the missing volumes but not the reason
		case strings.HasSuffix(strings.TrimRight(text, "]"), "not registered"):
			return obstacleNotRegistered, true
		}
		if strings.Contains(message, rootCA) {
			return obstacleMountSync, true
		}
		for _, row := range mountTexts {
			// An error of a network volume can also contain, for example, "connection refused". So a text of
			// obstacleMountAPI counts only if the kubelet failed to fetch a token.
			if strings.Contains(text, row.text) &&
				(row.obstacle != obstacleMountAPI || strings.Contains(text, "failed to fetch token")) {
				return row.obstacle, true
			}
		}
		return obstacleMount, true
	case "FailedCreatePodSandBox":
		return sandboxObstacleOf(message), true
	}
	if strings.HasPrefix(reason, "Failed") && !slices.Contains(harmlessReasons, reason) {
		return obstacleOther, true
	}
	return 0, false
}

// sandboxObstacleOf returns the obstacle that prevented the creation of a sandbox. If the runtime fails, its error is a
// gRPC status. The kubelet writes this status into the Event unchanged (SyncPod in pkg/kubelet/kuberuntime). If an
// unknown error contains no gRPC status, it does not show whether the kubelet or the runtime failed. If an unknown
// error contains a gRPC status, the runtime failed, possibly because of the pod's configuration.
func sandboxObstacleOf(message string) obstacle {
	text := strings.ToLower(imagepull.WithoutQuotes(message))
	text = strings.TrimPrefix(text, "failed to create pod sandbox: ")
	for _, words := range kubeletSandboxTexts {
		if strings.HasPrefix(text, words) {
			return obstacleSandboxKubelet
		}
	}
	inText := func(words string) bool { return strings.Contains(text, words) }
	if inText(storageText) {
		return storageObstacleOf(text)
	}
	for _, row := range sandboxTexts {
		if inText(row.text) {
			return row.obstacle
		}
	}
	switch {
	case !inText("rpc error: "):
		return obstacleSandboxUnknown
	case slices.ContainsFunc(runtimeTexts, inText):
		return obstacleSandboxRuntime
	}
	return obstacleSandbox
}
