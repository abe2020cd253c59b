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

// rowLimit is the longest time for any step of a row.
const rowLimit = 2 * time.Minute

// examPod is the pod of a row, with the faults that the row injected into its start-up.
type examPod struct {
	exam *exam
	name string
	spec corev1.PodSpec

	createdAt    time.Time
	until        time.Time // for an unfinished start-up: later time is not judged
	unfinished   bool
	broken       bool              // a step timed out: later ones do not wait
	images       map[string]string // reference of the cold image of each container
	sandboxFault []blame.Cause
	pauseImage   string // the repository of the pause image that is not on the node
	faults       []blame.Fault
}

func (x *examPod) bench() *bench.Bench { return x.exam.bench }

// create creates the pod.
func (x *examPod) create(ctx context.Context, spec corev1.PodSpec) error {
	x.spec = spec
	x.createdAt = time.Now()
	return x.wait(func() error { return x.bench().CreatePod(ctx, x.name, spec) })
}

// ready waits for the end of the start-up.
func (x *examPod) ready(ctx context.Context) error {
	return x.wait(func() error { return x.bench().AwaitReady(ctx, x.name, rowLimit) })
}

// wait waits for something, unless an earlier step timed out.
func (x *examPod) wait(until func() error) error {
	if x.broken {
		return nil
	}
	err := until()
	x.broken = err != nil
	return err
}

// start creates the pod and waits for the end of its start-up.
func (x *examPod) start(ctx context.Context, spec corev1.PodSpec) error {
	return errors.Join(x.create(ctx, spec), x.ready(ctx))
}

// blames records who was to blame until this call fixed the fault, and who afterwards until the end of the stretch that
// the witnesses see.
func (x *examPod) blames(causes, then []blame.Cause, put func() error) error {
	return x.blamesFrom(time.Time{}, causes, then, put)
}

// blamesFrom is blames for a fault that delayed nothing until the kubelet met it.
func (x *examPod) blamesFrom(from time.Time, causes, then []blame.Cause, put func() error) error {
	fixed, err := bench.Dated(put)
	x.faults = append(x.faults,
		blame.Fault{Causes: causes, From: from, FixedAt: fixed.StartAt, Then: then, Witness: "scenario"})
	return err
}

// giveUp ends the judgment of a start-up that will never end.
func (x *examPod) giveUp() { x.unfinished, x.until = true, time.Now() }

// cold creates an image for a container that is not on the node.
func (x *examPod) cold(ctx context.Context, container string, size int) (string, error) {
	reference, err := x.bench().Image(ctx, x.image(container), size)
	x.images[container] = reference
	return reference, err
}

// image is the name of a container's cold image.
func (x *examPod) image(container string) string { return x.name + "-" + container }

// uid is the pod's UID, once a watch has delivered it.
func (x *examPod) uid() string { return x.exam.watched.Of(x.name).UID }

// await waits until a condition holds.
func (x *examPod) await(ctx context.Context, what string, so func() (bool, error)) error {
	return x.wait(func() error {
		report := x.bench().Node.Report
		return report.Wait(ctx, what+" of pod "+x.name, rowLimit, 20*time.Millisecond, func(context.Context) error {
			yes, err := so()
			if err == nil && !yes {
				err = errors.New("the condition is not met yet")
			}
			return err
		})
	})
}

// stated waits until the kubelet has created this many Events with a reason about the pod.
func (x *examPod) stated(ctx context.Context, reason string, times int) error {
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

// statedOf waits until the kubelet has created an Event with a reason about the pod whose message contains these words.
func (x *examPod) statedOf(ctx context.Context, reason, words string) error {
	return x.await(ctx, "an Event "+reason, func() (bool, error) {
		events, err := x.exam.events.All()
		return firstStated(events, x.name, reason, words) != nil, err
	})
}

// firstStated is when the kubelet first created an Event with a reason about the pod whose message contains these
// words; zero if it did not.
func (x *examPod) firstStated(reason, words string) time.Time {
	events, _ := x.exam.events.All() // callers that waited for it have read the log
	if event := firstStated(events, x.name, reason, words); event != nil {
		return event.At
	}
	return time.Time{}
}

// firstStated returns the first Event with a reason about a pod whose message contains these words; nil if there is
// none.
func firstStated(events []bench.KubeletEvent, pod, reason, words string) *bench.KubeletEvent {
	i := slices.IndexFunc(events, func(e bench.KubeletEvent) bool {
		return e.Pod == pod && e.Reason == reason && strings.Contains(e.Message, words)
	})
	if i < 0 {
		return nil
	}
	return &events[i]
}

// called waits until the kubelet has made this many calls of a kind to the runtime for a container.
func (x *examPod) called(ctx context.Context, kind, container string, times int) error {
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

// exited waits until a container has ended this often.
func (x *examPod) exited(ctx context.Context, container string, times int) error {
	return x.await(ctx, fmt.Sprintf("end %d of container %s", times, container), func() (bool, error) {
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

// pulling waits until the runtime has received this many requests to pull a container's image.
func (x *examPod) pulling(ctx context.Context, container string, times int) error {
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
