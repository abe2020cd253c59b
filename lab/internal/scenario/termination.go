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

// ended is how one container must end. A container that never starts is not reported, whatever the kubelet invents: its
// code is -1 and how is empty.
type ended struct {
	container, how string
	code, signal   int
}

func (e ended) never() bool { return e.how == "" }

// endingPod is a pod that is deleted, and how it must end.
type endingPod struct {
	name   string
	grace  int64 // seconds
	spec   corev1.PodSpec
	ends   []ended
	phases []string // by name, in order; an unattributed phase by its candidates
	says   string   // part of the verdict
}

// endingPods returns pods that end in every way that the kubelet supports.
func endingPods(b *bench.Bench) []endingPod {
	const hook, slow, slower, never = 1200 * time.Millisecond, 400 * time.Millisecond, 700 * time.Millisecond, time.Hour
	container := func(name string) corev1.Container { return corev1.Container{Name: name, Image: b.BaseImage} }
	one := func(c corev1.Container) corev1.PodSpec { return corev1.PodSpec{Containers: []corev1.Container{c}} }
	usual := []string{"kubelet_pickup", "grace", "sandbox_stop", "object_deletion"}
	return []endingPod{
		{"deaf", 3, one(bench.WithStop(container("main"), never, 0)), []ended{{"main", "killed", 137, 9}},
			[]string{"kubelet_pickup", "grace", "kill", "sandbox_stop", "object_deletion"},
			"main ignored its stop signal for 3."},
		{"quick", 30, one(container("main")), []ended{{"main", "exited", 0, 0}}, usual, ""},
		{"hooked", 30, one(bench.WithPreStop(bench.WithStop(container("main"), 0, 7), hook)),
			[]ended{{"main", "exited", 7, 0}},
			[]string{"kubelet_pickup", "pre_stop_hook", "sandbox_stop", "object_deletion"},
			"in the pre-stop hook and stop of main"},
		{"family", 30, corev1.PodSpec{
			InitContainers: []corev1.Container{bench.InitContainer("init", b.BaseImage, 0),
				bench.WithStop(bench.Sidecar("proxy", b.BaseImage), slow, 0)},
			Containers: []corev1.Container{bench.WithStop(container("main"), slower, 143), container("quick")},
		}, []ended{{"proxy", "exited", 0, 0}, {"main", "signalled", 143, 15}, {"quick", "exited", 0, 0}},
			[]string{"kubelet_pickup", "grace", "grace", "sandbox_stop", "object_deletion"}, "until main stopped"},
		{"beside", 30,
			corev1.PodSpec{Containers: []corev1.Container{bench.WithStop(container(mainName), slow, 0),
				{Name: "never", Image: b.BaseImage + "-never"}}},
			[]ended{{mainName, "exited", 0, 0}, {"never", "", -1, 0}}, usual, "until main stopped"},
	}
}

// termination deletes pods that end in every way. It compares what the agent reports with the logs of the kubelet,
// containerd and the processes, and with its own watch.
func termination(ctx context.Context, b *bench.Bench, v *Verdict) error {
	if err := b.Node.RestartAgentWith(ctx, node.AgentChange{Flags: []string{"--termination"}}); err != nil {
		return err
	}
	pods := endingPods(b)
	arrivals, stop := b.Watch(ctx)
	work, together := errgroup.WithContext(ctx)
	for _, p := range pods {
		work.Go(func() error {
			p.spec.TerminationGracePeriodSeconds = &p.grace
			if err := b.CreatePod(together, p.name, p.spec); err != nil {
				return err
			}
			if slices.ContainsFunc(p.ends, ended.never) {
				return b.AwaitRunning(together, p.name, mainName, startLimit)
			}
			return b.AwaitReady(together, p.name, startLimit)
		})
	}
	if err := work.Wait(); err != nil {
		return errors.Join(err, stop())
	}
	if err := settleAgent(ctx, b); err != nil {
		return errors.Join(err, stop())
	}
	work, together = errgroup.WithContext(ctx)
	witnesses := make([]endWitness, len(pods))
	for i, p := range pods {
		work.Go(func() (err error) {
			witnesses[i], err = p.end(together, b, v, arrivals)
			return err
		})
	}
	if err := errors.Join(work.Wait(), stop()); err != nil {
		return err
	}
	for i, p := range pods {
		end, err := b.AwaitEnd(ctx, p.name)
		if err != nil {
			return err
		}
		v.end(p, end, witnesses[i])
		if err := explained(ctx, b, v, end); err != nil {
			return err
		}
	}
	records, err := b.Records()
	if err != nil {
		return err
	}
	if v.Compared++; len(records.Ends) != len(pods) {
		v.Problem("%d pods were deleted, but the agent printed %d terminations", len(pods), len(records.Ends))
	}
	return nil
}

// endWitness is the evidence about a pod's end from witnesses other than the agent.
type endWitness struct {
	asked      bench.Span // from the request to its response
	reportedAt time.Time  // when the kubelet received it, by its log
	begunAt    time.Time  // when it started to stop the first container, by its Event
	runtime    bench.RuntimeLog
	goneAt     time.Time // when the bench's watch delivered that the pod was gone
}

// end deletes the pod, waits until it is gone, and collects the evidence.
func (p endingPod) end(ctx context.Context, b *bench.Bench, v *Verdict,
	arrivals *bench.Arrivals) (w endWitness, err error) {
	if w.asked, err = bench.Dated(func() error { return b.DeletePod(ctx, p.name) }); err != nil {
		return w, err
	}
	if p.name == "deaf" { // it ends slowly
		if err := v.goesOn(ctx, b, p.name); err != nil {
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
		return w, fmt.Errorf("find when pod %s was gone: the watch did not deliver it", p.name)
	}
	w.runtime, err = b.RuntimeLog(p.name, seen.UID)
	return w, err
}
