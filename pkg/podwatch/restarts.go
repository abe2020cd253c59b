package podwatch

import (
	"maps"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// RestartReason tells why a container's run ended before the kubelet restarted the container. A RestartReason is always
// one of the constants below.
type RestartReason string

// Values of RestartReason. RestartSignal means that the exit code indicates a signal, and that the runtime reports only
// the reason Error. Either the program crashed, or the kubelet killed the program, for example after a failed probe.
// The pod object does not show whether the program crashed or was killed. RestartUnknown means that the pod object does
// not show how the run ended.
const (
	RestartCompleted  RestartReason = "completed"
	RestartError      RestartReason = "error"
	RestartSignal     RestartReason = "signal"
	RestartOOMKilled  RestartReason = "oom_killed"
	RestartStartError RestartReason = "start_error"
	// RestartAll means that the kubelet restarted all containers of the pod because of a rule in the pod's spec.
	RestartAll     RestartReason = "restart_all"
	RestartOther   RestartReason = "other" // any other reason that the runtime reports
	RestartUnknown RestartReason = "unknown"
)

// RestartReasons returns every reason.
func RestartReasons() []RestartReason {
	return []RestartReason{RestartCompleted, RestartError, RestartSignal, RestartOOMKilled, RestartStartError,
		RestartAll,
		RestartOther, RestartUnknown}
}

// RestartedKinds returns the kinds of container that the kubelet restarts.
func RestartedKinds() []timeline.ContainerKind {
	return []timeline.ContainerKind{timeline.KindInit, timeline.KindSidecar, timeline.KindMain}
}

// statedReasons maps the termination reason in a container's status to a RestartReason. The reasons come from
// containerd (internal/cri/server, helpers.go), CRI-O and cri-dockerd. The kubelet adds its own reasons
// (pkg/kubelet/container, ContainerReasonStatusUnknown; pkg/kubelet, RestartingAllContainers).
var statedReasons = map[string]RestartReason{
	"Completed":               RestartCompleted,
	"Error":                   RestartError,
	"OOMKilled":               RestartOOMKilled,
	"StartError":              RestartStartError,
	"ContainerCannotRun":      RestartStartError,
	"RestartingAllContainers": RestartAll,
	"ContainerStatusUnknown":  RestartUnknown,
	"Unknown":                 RestartUnknown,
	"":                        RestartUnknown,
}

// Exit codes from signalFirst to signalLast can represent a signal. If a signal ends a program, shells and runtimes
// report the exit code 128 plus the signal's number.
const (
	signalFirst = 128 + 1
	signalLast  = 128 + 64
)

// restartReason returns the reason of a container's last termination. If the status contains no last termination,
// restartReason returns RestartUnknown.
func restartReason(last *corev1.ContainerStateTerminated) RestartReason {
	if last == nil {
		return RestartUnknown
	}
	reason, ok := statedReasons[last.Reason]
	switch {
	case !ok:
		return RestartOther
	case reason == RestartError && last.ExitCode >= signalFirst && last.ExitCode <= signalLast:
		return RestartSignal
	}
	return reason
}

// RestartKey is the key of a restart count. Each combination of a container kind and a reason has its own count.
type RestartKey struct {
	Kind   timeline.ContainerKind
	Reason RestartReason
}

// Restart describes one restart of a container by the kubelet. A Restart can also describe several restarts that the
// agent did not observe one by one. Times is the number of restarts.
type Restart struct {
	Container string
	RestartKey
	ExitCode *int32 // exit code of the previous run; nil if unknown
	Times    int
}

// restartCounter counts the container restarts by the kubelet. restartCounter remembers the highest restart count of
// each container, and ignores a status with a lower or equal count. So an outdated status does not count a restart
// twice. Callers of countRestarts and forget must hold the store's lock. Any goroutine can read the counts.
type restartCounter struct {
	report func(*corev1.Pod, Restart)

	mu     sync.Mutex
	counts map[RestartKey]uint64

	highest map[string]map[string]int32 // by pod UID and container; protected by the store's lock
}

func newRestarts(report func(*corev1.Pod, Restart)) *restartCounter {
	return &restartCounter{report: report, counts: map[RestartKey]uint64{}, highest: map[string]map[string]int32{}}
}

// copyCounts returns a copy of the counts. If the copy has no entry for a key, the count is 0.
func (r *restartCounter) copyCounts() map[RestartKey]uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.counts)
}

// countRestarts counts the new restarts in a pod's status. If alreadyCounted is true, countRestarts stores the restart
// counts of the status, but counts no restart. Callers pass true if this agent or an earlier agent process might
// already have counted these restarts.
func (r *restartCounter) countRestarts(pod *corev1.Pod, alreadyCounted bool) {
	for i := range pod.Status.InitContainerStatuses {
		status := &pod.Status.InitContainerStatuses[i]
		r.countContainerRestarts(pod, status, initKind(pod, status.Name), alreadyCounted)
	}
	for i := range pod.Status.ContainerStatuses {
		r.countContainerRestarts(pod, &pod.Status.ContainerStatuses[i], timeline.KindMain, alreadyCounted)
	}
}

func (r *restartCounter) countContainerRestarts(
	pod *corev1.Pod, status *corev1.ContainerStatus, kind timeline.ContainerKind, alreadyCounted bool,
) {
	uid := string(pod.UID)
	known := r.highest[uid][status.Name]
	if status.RestartCount <= known {
		return
	}
	if r.highest[uid] == nil {
		r.highest[uid] = map[string]int32{}
	}
	r.highest[uid][status.Name] = status.RestartCount
	if alreadyCounted {
		return
	}
	last := status.LastTerminationState.Terminated
	latest := Restart{Container: status.Name, RestartKey: RestartKey{kind, restartReason(last)}, Times: 1}
	if last != nil {
		latest.ExitCode = &last.ExitCode
	}
	r.count(pod, latest)
	if unseen := status.RestartCount - known - 1; unseen > 0 { // the status describes only the last termination
		r.count(pod, Restart{Container: status.Name, RestartKey: RestartKey{kind, RestartUnknown}, Times: int(unseen)})
	}
}

func (r *restartCounter) count(pod *corev1.Pod, restart Restart) {
	r.mu.Lock()
	r.counts[restart.RestartKey] += uint64(restart.Times)
	r.mu.Unlock()
	r.report(pod, restart)
}

// initKind returns the kind of an init container. If the spec does not contain the name, the result is KindInit.
func initKind(pod *corev1.Pod, name string) timeline.ContainerKind {
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; c.Name == name {
			return kindOfInit(c)
		}
	}
	return timeline.KindInit
}

func (r *restartCounter) forget(uid string) { delete(r.highest, uid) }
