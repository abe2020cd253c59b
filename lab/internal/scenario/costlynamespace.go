package scenario

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"golang.org/x/sync/errgroup"

	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/metrics"
	"github.com/podlapse/podlapse/lab/internal/registry"
	"github.com/podlapse/podlapse/lab/internal/synthetic"
)

// limitedEvents is the text that the agent adds to the field "missing" of a timeline if the agent's limits for Event
// watches prevented a watch.
const limitedEvents = "Events beyond the agent's limits for Event watches"

// costlyNamespace pulls an image slowly for the pod "slow" on the real node. Meanwhile, many pods of the same namespace
// start on a synthetic node. The agent must close its Event watch on this namespace. Then the pod "later" pulls an
// image on the real node. The agent must not open an Event watch for this pod. The timelines of both pods must contain
// the pull, and must report that the agent's limits for Event watches prevented a watch.
func costlyNamespace(ctx context.Context, b *bench.Bench, v *Verdict) (err error) {
	if err := awaitAgentAge(ctx, b); err != nil {
		return err
	}
	before, err := countCostly(ctx, b)
	if err != nil {
		return err
	}
	watches, err := countWatches(ctx, b, b.Agent)
	if err != nil {
		return err
	}
	const slow, later = "slow", "later"
	lengths := map[string]int64{slow: 80, later: 10} // durations of the pulls, in seconds
	for _, name := range []string{slow, later} {
		image, err := b.Image(ctx, name, smallLayer)
		if err != nil {
			return err
		}
		if err := b.Break(ctx, name, registry.Rule{BytesPerSecond: smallLayer / lengths[name]}); err != nil {
			return err
		}
		if name == later {
			continue
		}
		spec := corev1.PodSpec{Containers: []corev1.Container{{Name: mainName, Image: image}}}
		if err := b.CreatePod(ctx, name, spec); err != nil {
			return err
		}
	}
	stop, err := startCrowd(ctx, b)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	beganAt := time.Now()
	if err := awaitCostly(ctx, b, before+1); err != nil {
		return err
	}
	v.Note("the agent decided %s s after the other pods began to start", seconds(time.Since(beganAt)))
	closed, err := awaitClosedWatches(ctx, b, watches.open)
	if err != nil {
		v.Problem("%v", err)
	}
	v.compareWatches("a pod with a slow pull", closed.growthSince(watches), 1, 1)
	spec := corev1.PodSpec{Containers: []corev1.Container{{Name: mainName, Image: b.Reference(later)}}}
	if err := b.CreatePod(ctx, later, spec); err != nil {
		return err
	}
	for _, name := range []string{slow, later} {
		if err := b.AwaitReady(ctx, name, 2*time.Minute); err != nil {
			return err
		}
		timeline, err := b.AwaitSettled(ctx, name)
		if err != nil {
			return err
		}
		v.requireDownload(timeline, mainName)
		v.Compared++
		if !slices.Contains(timeline.Missing, limitedEvents) {
			v.Problem("pod %s: the field \"missing\" is %q, want %q in it", name, timeline.Missing, limitedEvents)
		}
	}
	after, err := countWatches(ctx, b, b.Agent)
	if err != nil {
		return err
	}
	v.compareWatches("a later pod of the same namespace", after.growthSince(closed), 0, 0)
	return nil
}

// startCrowd starts pods on a synthetic node at a constant rate until the caller calls the function "stop". The
// function "stop" deletes all pods of the namespace, and removes the synthetic node.
func startCrowd(ctx context.Context, b *bench.Bench) (stop func() error, err error) {
	const every = 200 * time.Millisecond
	leave, err := synthetic.Join(ctx, b.Kube, plainNode)
	if err != nil {
		return nil, err
	}
	kubelet := synthetic.Kubelet{Kube: b.Kube, Runtime: synthetic.NewRuntime(), Node: plainNode,
		Pace: synthetic.Usual()}
	images := make([]string, costContainers)
	for i := range images {
		images[i] = fmt.Sprintf("images.invalid/%s/image-%d:1", b.Namespace, i+1)
	}
	going, end := context.WithCancel(ctx)
	crowd, starting := errgroup.WithContext(ctx)
	crowd.Go(func() error {
		for n := 1; sleep(going, every) == nil; n++ {
			crowd.Go(func() error {
				_, err := kubelet.Start(starting, b.Namespace, fmt.Sprintf("crowd-%d", n), images, true)
				return err
			})
		}
		return nil
	})
	return func() error {
		end()
		err := crowd.Wait()
		return errors.Join(err, b.Kube.DeletePods(context.WithoutCancel(ctx), b.Node.Report, b.Namespace), leave())
	}, nil
}

// countCostly returns how often the agent decided that a namespace is costly.
func countCostly(ctx context.Context, b *bench.Bench) (float64, error) {
	text, err := b.Agent.Metrics(ctx)
	if err != nil {
		return 0, err
	}
	return metrics.Sum(text, "podlapse_event_costly_namespaces_total")
}

func awaitCostly(ctx context.Context, b *bench.Bench, want float64) error {
	return b.Node.Report.Wait(ctx, "the agent to stop its Event watches", 90*time.Second, 200*time.Millisecond,
		func(ctx context.Context) error {
			got, err := countCostly(ctx, b)
			if err == nil && got < want {
				err = fmt.Errorf("the agent has decided %v times that a namespace is costly, want %v", got, want)
			}
			return err
		})
}
