package scenario

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/blame"
)

// rowLimit is the time limit for one step of a start-up in the blame exam.
const rowLimit = 2 * time.Minute

// examPod is the pod of one examRow (start-up). examPod also contains the faults that the exam injected into this
// start-up.
type examPod struct {
	exam *exam
	name string
	spec corev1.PodSpec

	createdAt    time.Time
	until        time.Time // for an unfinished start-up: end of the period that the blame exam checks
	unfinished   bool
	broken       bool              // true after a step of the start-up failed; all later steps are skipped
	images       map[string]string // references of the images that the node must pull, by container name
	sandboxFault []blame.Cause
	pauseImage   string // repository of the sandbox image; empty if the node does not have to pull this image
	faults       []blame.Fault
}

func (x *examPod) bench() *bench.Bench { return x.exam.bench }

func (x *examPod) create(ctx context.Context, spec corev1.PodSpec) error {
	x.spec = spec
	x.createdAt = time.Now()
	return x.stepUnlessFailed(func() error { return x.bench().CreatePod(ctx, x.name, spec) })
}

// awaitReady waits until the pod is ready.
func (x *examPod) awaitReady(ctx context.Context) error {
	return x.stepUnlessFailed(func() error { return x.bench().AwaitReady(ctx, x.name, rowLimit) })
}

// stepUnlessFailed calls the function "until", which runs one step of the start-up. If an earlier step of the start-up
// failed, stepUnlessFailed does not call "until".
func (x *examPod) stepUnlessFailed(until func() error) error {
	if x.broken {
		return nil
	}
	err := until()
	x.broken = err != nil
	return err
}

// start creates the pod, and waits until the pod is ready.
func (x *examPod) start(ctx context.Context, spec corev1.PodSpec) error {
	return errors.Join(x.create(ctx, spec), x.awaitReady(ctx))
}

// recordCauses calls the function "put" to repair a fault, and then records the fault for the blame exam. Before the
// repair, the pod is delayed by the causes in the argument "causes". After the repair, the pod is delayed by the causes
// in the argument "then".
func (x *examPod) recordCauses(causes, then []blame.Cause, put func() error) error {
	return x.blamesFrom(time.Time{}, causes, then, put)
}

// blamesFrom is like recordCauses, but the fault delays the pod only from the time "from". At this time, the kubelet
// noticed the fault.
func (x *examPod) blamesFrom(from time.Time, causes, then []blame.Cause, put func() error) error {
	fixed, err := bench.Dated(put)
	x.faults = append(x.faults,
		blame.Fault{Causes: causes, From: from, FixedAt: fixed.StartAt, Then: then, Source: "scenario"})
	return err
}

// giveUp is for start-ups that never complete. giveUp ends the period that the blame exam checks.
func (x *examPod) giveUp() { x.unfinished, x.until = true, time.Now() }

// pushCold pushes an image for a container to the lab's registry. The node does not have this image yet.
func (x *examPod) pushCold(ctx context.Context, container string, size int) (string, error) {
	reference, err := x.bench().Image(ctx, x.imageOf(container), size)
	x.images[container] = reference
	return reference, err
}

// imageOf returns the name of the image that pushCold pushes for a container.
func (x *examPod) imageOf(container string) string { return x.name + "-" + container }

// uid returns the pod's UID, or "" until a watch has delivered the pod.
func (x *examPod) uid() string { return x.exam.watched.Of(x.name).UID }

// await waits until a condition is true.
func (x *examPod) await(ctx context.Context, what string, so func() (bool, error)) error {
	return x.stepUnlessFailed(func() error {
		report := x.bench().Node.Report
		return report.Wait(ctx, what+" of pod "+x.name, rowLimit, 20*time.Millisecond, func(context.Context) error {
			yes, err := so()
			if err == nil && !yes {
				err = errors.New("the pod does not meet the condition yet")
			}
			return err
		})
	})
}

// awaitEvents waits for kubelet Events about the pod. awaitEvents returns when the kubelet has created at least the
// given number of Events with the given reason.
func (x *examPod) awaitEvents(ctx context.Context, reason string, times int) error {
	return x.await(ctx, "an Event "+reason, func() (bool, error) {
		events, err := x.exam.events.All()
		count := 0
		for _, event := range events {
			if event.Pod == x.name && event.Reason == reason {
				count++
			}
		}
		return count >= times, err
	})
}

// statedOf waits for a kubelet Event about the pod. The Event must have the given reason, and its message must contain
// the given words.
func (x *examPod) statedOf(ctx context.Context, reason, words string) error {
	return x.await(ctx, "an Event "+reason, func() (bool, error) {
		events, err := x.exam.events.All()
		return firstStated(events, x.name, reason, words) != nil, err
	})
}

// firstStated searches the kubelet's Events about the pod for the given reason, and for the given words in the message.
// firstStated returns the time of the first match. If no Event matches, firstStated returns the zero time.
func (x *examPod) firstStated(reason, words string) time.Time {
	events, _ := x.exam.events.All() // ignore the error, because the caller has just read the same log
	if event := firstStated(events, x.name, reason, words); event != nil {
		return event.At
	}
	return time.Time{}
}

// firstStated searches the Events about a pod for the given reason, and for the given words in the message. firstStated
// returns the first match. If no Event matches, firstStated returns nil.
func firstStated(events []bench.KubeletEvent, pod, reason, words string) *bench.KubeletEvent {
	i := slices.IndexFunc(events, func(e bench.KubeletEvent) bool {
		return e.Pod == pod && e.Reason == reason && strings.Contains(e.Message, words)
	})
	if i < 0 {
		return nil
	}
	return &events[i]
}

// awaitCalls waits for calls from the kubelet to the container runtime. awaitCalls returns when the kubelet has made at
// least the given number of calls of this kind for the container.
func (x *examPod) awaitCalls(ctx context.Context, kind, container string, times int) error {
	return x.await(ctx, "call "+kind, func() (bool, error) {
		calls, err := x.exam.calls.Of(x.uid())
		count := 0
		for _, call := range calls {
			if call.Kind == kind && call.Container == container {
				count++
			}
		}
		return count >= times, err
	})
}

// awaitExit waits until a container has exited at least the given number of times.
func (x *examPod) awaitExit(ctx context.Context, container string, times int) error {
	return x.await(ctx, fmt.Sprintf("exit %d of container %s", times, container), func() (bool, error) {
		calls, err := x.exam.calls.Of(x.uid())
		count := 0
		for _, call := range calls {
			if call.Container == container && !call.ExitedAt.IsZero() {
				count++
			}
		}
		return count >= times, err
	})
}

// awaitPulling waits until the runtime has received at least the given number of requests to pull a container's image.
func (x *examPod) awaitPulling(ctx context.Context, container string, times int) error {
	return x.await(ctx, "pull", func() (bool, error) {
		calls, err := x.exam.pulls.Of(x.images[container])
		return len(calls) >= times, err
	})
}

// timeline returns the agent's timeline of the pod.
func (x *examPod) timeline(ctx context.Context) (agent.Timeline, error) {
	if x.unfinished {
		return x.bench().Agent.Timeline(ctx, x.bench().Namespace, x.name)
	}
	return x.bench().AwaitSettled(ctx, x.name)
}
