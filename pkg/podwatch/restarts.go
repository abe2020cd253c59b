package podwatch

import (
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// RestartReason is why the run before a restart ended; the set is closed.
type RestartReason string

// The reasons. RestartSignal is a run that died of a signal nobody explains: the program crashed,
// or kubelet killed it, as it does after a failed probe, which the pod object does not tell.
// RestartUnknown is of runs whose end nobody saw.
const (
	RestartCompleted  RestartReason = "completed"
	RestartError      RestartReason = "error"
	RestartSignal     RestartReason = "signal"
	RestartOOMKilled  RestartReason = "oom_killed"
	RestartStartError RestartReason = "start_error"
	// kubelet restarted all containers of the pod, by a rule in its spec
	RestartAll     RestartReason = "restart_all"
	RestartOther   RestartReason = "other" // a runtime's own word
	RestartUnknown RestartReason = "unknown"
)

// RestartReasons lists every reason.
func RestartReasons() []RestartReason {
	return []RestartReason{RestartCompleted, RestartError, RestartSignal, RestartOOMKilled, RestartStartError,
		RestartAll,
		RestartOther, RestartUnknown}
}

// RestartedKinds lists the kinds of container that kubelet restarts.
func RestartedKinds() []timeline.ContainerKind {
	return []timeline.ContainerKind{timeline.KindInit, timeline.KindSidecar, timeline.KindMain}
}

// statedReasons are the words in a terminated state: those of containerd (internal/cri/server,
// helpers.go), CRI-O and cri-dockerd, and kubelet's own (pkg/kubelet/container,
// ContainerReasonStatusUnknown; pkg/kubelet, RestartingAllContainers).
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

// Exit codes by which a shell's convention, which runtimes follow, tells of a signal: 128 and its number.
const (
	signalFirst = 128 + 1
	signalLast  = 128 + 64
)

// restartReason reads the last termination; nil when the status has none.
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

// RestartKey is what restarts are told apart by.
type RestartKey struct {
	Kind   timeline.ContainerKind
	Reason RestartReason
}

// Restart is that kubelet started a container again, or several times without anybody having seen it in between.
type Restart struct {
	Container string
	RestartKey
	ExitCode *int32 // of the run before; nil of one whose end nobody saw
	Times    int
}

// restarts counts how often kubelet started containers again. It keeps the highest count of each
// container that has been restarted, so a status that goes back and comes again counts once. The
// goroutine of Run counts, anybody reads.
type restarts struct {
	tell func(*corev1.Pod, Restart)

	mu sync.Mutex
	of map[RestartKey]uint64

	highest map[string]map[string]int32 // by pod UID and container, of the goroutine of Run only
}

func newRestarts(tell func(*corev1.Pod, Restart)) *restarts {
	return &restarts{tell: tell, of: map[RestartKey]uint64{}, highest: map[string]map[string]int32{}}
}

// counts is a copy of what was counted so far; what is absent is zero.
func (r *restarts) counts() map[RestartKey]uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	counts := make(map[RestartKey]uint64, len(r.of))
	for key, n := range r.of {
		counts[key] = n
	}
	return counts
}

// observe counts what is new in a pod's status. Of a pod that was there before the agent looked, what was before is not
// counted: an agent before this one may have.
func (r *restarts) observe(pod *corev1.Pod, before bool) {
	for i := range pod.Status.InitContainerStatuses {
		status := &pod.Status.InitContainerStatuses[i]
		r.container(pod, status, initKind(pod, status.Name), before)
	}
	for i := range pod.Status.ContainerStatuses {
		r.container(pod, &pod.Status.ContainerStatuses[i], timeline.KindMain, before)
	}
}

func (r *restarts) container(pod *corev1.Pod, status *corev1.ContainerStatus, kind timeline.ContainerKind,
	before bool) {
	uid := string(pod.UID)
	known := r.highest[uid][status.Name]
	if status.RestartCount <= known {
		return
	}
	if r.highest[uid] == nil {
		r.highest[uid] = map[string]int32{}
	}
	r.highest[uid][status.Name] = status.RestartCount
	if before {
		return
	}
	last := status.LastTerminationState.Terminated
	latest := Restart{Container: status.Name, RestartKey: RestartKey{kind, restartReason(last)}, Times: 1}
	if last != nil {
		latest.ExitCode = &last.ExitCode
	}
	r.count(pod, latest)
	if unseen := status.RestartCount - known - 1; unseen > 0 { // the status tells of the latest run only
		r.count(pod, Restart{Container: status.Name, RestartKey: RestartKey{kind, RestartUnknown}, Times: int(unseen)})
	}
}

func (r *restarts) count(pod *corev1.Pod, restart Restart) {
	r.mu.Lock()
	r.of[restart.RestartKey] += uint64(restart.Times)
	r.mu.Unlock()
	r.tell(pod, restart)
}

// initKind is the kind of an init container by its name; of one that the spec does not have, the usual one.
func initKind(pod *corev1.Pod, name string) timeline.ContainerKind {
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; c.Name == name {
			return kindOfInit(c)
		}
	}
	return timeline.KindInit
}

func (r *restarts) forget(uid string) { delete(r.highest, uid) }
