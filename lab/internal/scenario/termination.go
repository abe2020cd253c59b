package scenario

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/node"
)

// expectedStop describes the expected stop of one container. If a container never starts, the agent must not report
// this container, even if the kubelet reports an exit code for it. For a container that never starts, the field "code"
// is -1 and the field "how" is empty.
type expectedStop struct {
	container, how string
	code, signal   int
}

func (e expectedStop) never() bool { return e.how == "" }

// terminatingPod describes a pod that the scenario deletes, and the pod's expected termination.
type terminatingPod struct {
	name    string
	grace   int64 // grace period in seconds
	spec    corev1.PodSpec
	stops   []expectedStop
	phases  []string // expected names of the phases, in order
	verdict string   // expected part of the verdict
}

// terminatingPods returns pods that stop in different ways.
func terminatingPods(b *bench.Bench) []terminatingPod {
	const hook, slow, slower, never = 1200 * time.Millisecond, 400 * time.Millisecond, 700 * time.Millisecond, time.Hour
	container := func(name string) corev1.Container { return corev1.Container{Name: name, Image: b.BaseImage} }
	one := func(c corev1.Container) corev1.PodSpec { return corev1.PodSpec{Containers: []corev1.Container{c}} }
	usual := []string{"kubelet_pickup", "grace", "sandbox_stop", "object_deletion"}
	return []terminatingPod{
		{"unresponsive", 3, one(bench.WithStop(container("main"), never, 0)),
			[]expectedStop{{"main", "killed", 137, 9}},
			[]string{"kubelet_pickup", "grace", "kill", "sandbox_stop", "object_deletion"},
			"main ignored its stop signal for 3."},
		{"quick", 30, one(container("main")), []expectedStop{{"main", "exited", 0, 0}}, usual, ""},
		{"hooked", 30, one(bench.WithPreStop(bench.WithStop(container("main"), 0, 7), hook)),
			[]expectedStop{{"main", "exited", 7, 0}},
			[]string{"kubelet_pickup", "pre_stop_hook", "sandbox_stop", "object_deletion"},
			"in the pre-stop hook and stop of main"},
		{"sidecar", 30, corev1.PodSpec{
			InitContainers: []corev1.Container{bench.InitContainer("init", b.BaseImage, 0),
				bench.WithStop(bench.Sidecar("proxy", b.BaseImage), slow, 0)},
			Containers: []corev1.Container{bench.WithStop(container("main"), slower, 143), container("quick")},
		}, []expectedStop{{"proxy", "exited", 0, 0}, {"main", "signalled", 143, 15}, {"quick", "exited", 0, 0}},
			[]string{"kubelet_pickup", "grace", "grace", "sandbox_stop", "object_deletion"}, "until main stopped"},
		{"never-started", 30,
			corev1.PodSpec{Containers: []corev1.Container{bench.WithStop(container(mainName), slow, 0),
				{Name: "never", Image: b.BaseImage + "-never"}}},
			[]expectedStop{{mainName, "exited", 0, 0}, {"never", "", -1, 0}}, usual, "until main stopped"},
	}
}

// The scenario "termination" deletes pods that stop in different ways. The scenario compares the agent's report with
// the logs of the kubelet, containerd and the processes, and with the scenario's own watch.
func termination(ctx context.Context, b *bench.Bench, v *Verdict) error {
	if err := b.Node.RestartAgentWith(ctx, node.AgentChange{Flags: []string{"--termination"}}); err != nil {
		return err
	}
	pods := terminatingPods(b)
	arrivals, stop := b.Watch(ctx)
	work, together := errgroup.WithContext(ctx)
	for _, p := range pods {
		work.Go(func() error {
			p.spec.TerminationGracePeriodSeconds = &p.grace
			if err := b.CreatePod(together, p.name, p.spec); err != nil {
				return err
			}
			if slices.ContainsFunc(p.stops, expectedStop.never) {
				return b.AwaitRunning(together, p.name, mainName, startLimit)
			}
			return b.AwaitReady(together, p.name, startLimit)
		})
	}
	if err := work.Wait(); err != nil {
		return errors.Join(err, stop())
	}
	if err := awaitAgentAge(ctx, b); err != nil {
		return errors.Join(err, stop())
	}
	work, together = errgroup.WithContext(ctx)
	independent := make([]independentTermination, len(pods))
	for i, p := range pods {
		work.Go(func() (err error) {
			independent[i], err = p.terminate(together, b, v, arrivals)
			return err
		})
	}
	if err := errors.Join(work.Wait(), stop()); err != nil {
		return err
	}
	for i, p := range pods {
		record, err := b.AwaitTermination(ctx, p.name)
		if err != nil {
			return err
		}
		v.compareTermination(p, record, independent[i])
		if err := requireExplained(ctx, b, v, record); err != nil {
			return err
		}
	}
	records, err := b.Records()
	if err != nil {
		return err
	}
	if v.Compared++; len(records.Terminations) != len(pods) {
		v.Problem("the agent must print %d terminations, but printed %d", len(pods), len(records.Terminations))
	}
	return nil
}

// independentTermination contains the evidence about a pod's termination that does not come from the agent.
type independentTermination struct {
	requested  bench.Span // start and end of the call that requests the deletion
	reportedAt time.Time  // time when the kubelet received the deletion request, from the kubelet's log
	begunAt    time.Time  // time when the kubelet started to stop the first container, from the kubelet's Event
	runtime    bench.RuntimeLog
	goneAt     time.Time // time when the bench's watch delivered the deletion of the object
}

// terminate deletes the pod, waits until the pod's object no longer exists, and collects the evidence.
func (p terminatingPod) terminate(ctx context.Context, b *bench.Bench, v *Verdict,
	arrivals *bench.Arrivals) (w independentTermination, err error) {
	if w.requested, err = bench.Dated(func() error { return b.DeletePod(ctx, p.name) }); err != nil {
		return w, err
	}
	if p.name == "unresponsive" { // this pod terminates so slowly that the scenario can observe the termination
		if err := v.inProgress(ctx, b, p.name); err != nil {
			return w, err
		}
	}
	if err := b.AwaitGone(ctx, p.name); err != nil {
		return w, err
	}
	if w.reportedAt, err = b.StopRequestedAt(p.name); err != nil {
		return w, err
	}
	if w.begunAt, err = b.StopBegunAt(ctx, p.name); err != nil {
		return w, err
	}
	seen := arrivals.Of(p.name)
	if w.goneAt = seen.GoneAt; w.goneAt.IsZero() {
		return w, fmt.Errorf("find the deletion time of pod %s: the scenario's watch did not report the deletion",
			p.name)
	}
	w.runtime, err = b.RuntimeLog(p.name, seen.UID)
	return w, err
}
