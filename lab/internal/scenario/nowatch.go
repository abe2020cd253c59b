package scenario

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"

	"golang.org/x/sync/errgroup"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/bench"
)

// noWatch fills a node with 30 pods whose images the node already has, and then starts one pod whose image the node
// must pull. Only the agent opens Event watches for the node. The API server counts the Event watches.
func noWatch(ctx context.Context, b *bench.Bench, v *Verdict) error {
	const (
		count = 30
		// atOnce is the number of pods that start at the same time. If 30 pods start at the same time on two CPUs, the
		// last sandboxes take longer than sandboxPatience. Even with ten pods, the last sandboxes sometimes take longer
		// than sandboxPatience.
		atOnce = 5
	)
	var late atomic.Int64
	cold, err := b.Image(ctx, "cold", smallLayer)
	if err != nil {
		return err
	}
	if err := awaitAgentAge(ctx, b); err != nil {
		return err
	}
	before, err := countWatches(ctx, b, b.Agent)
	if err != nil {
		return err
	}
	all, together := errgroup.WithContext(ctx)
	all.SetLimit(atOnce)
	for i := range count {
		all.Go(func() error {
			timeline, err := startPlain(together, b, fmt.Sprintf("present-%d", i+1), b.BaseImage)
			if lateSandbox(timeline) {
				late.Add(1)
			}
			return err
		})
	}
	if err := all.Wait(); err != nil {
		return err
	}
	// Wait before the count, because the agent can open a watch late. The API server can also count a watch late.
	const tail = 2 * time.Second
	if err := sleep(ctx, tail); err != nil {
		return err
	}
	// If several pods wait long for their sandboxes at the same time, they share one Event watch. After the last of
	// these pods, the watch stays open for a few seconds. The cold pod would use this open watch, so the scenario
	// waits until all Event watches are closed.
	present, err := awaitClosedWatches(ctx, b, before.open)
	if err != nil {
		return err
	}
	if err := v.allRun(ctx, b, count); err != nil {
		return err
	}
	v.Note("%d of %d pods may have waited longer than %s for their sandbox", late.Load(), count, sandboxPatience)
	v.compareWatches("30 pods with present images", present.growthSince(before), 0, float64(late.Load()))
	timeline, err := startPlain(ctx, b, "cold", cold)
	if err != nil {
		return err
	}
	v.requireDownload(timeline, mainName)
	after, err := awaitClosedWatches(ctx, b, before.open)
	if err != nil {
		v.Problem("%v", err)
	}
	v.compareWatches("a pod with a cold image", after.growthSince(present), 1, 1)
	return nil
}

// awaitClosedWatches waits until the agent has closed its Event watches, and returns the counts of watches. The
// argument "othersOpen" is the number of open Event watches of other clients.
func awaitClosedWatches(ctx context.Context, b *bench.Bench, othersOpen float64) (watches watchCounts, err error) {
	err = b.Node.Report.Wait(ctx, "the agent to close its Event watches", 30*time.Second, 200*time.Millisecond,
		func(ctx context.Context) error {
			if watches, err = countWatches(ctx, b, b.Agent); err != nil {
				return err
			}
			if watches.open > othersOpen || watches.agentOpen > 0 {
				return fmt.Errorf("the API server still serves %v Event watches of the agent, and the agent reports "+
					"%v open Event watches", watches.open-othersOpen, watches.agentOpen)
			}
			return nil
		})
	return watches, err
}

// allRun requires that all started pods are running at the same time.
func (v *Verdict) allRun(ctx context.Context, b *bench.Bench, want int) error {
	running, err := runningPods(ctx, b)
	if err != nil {
		return err
	}
	v.Compared++
	if running != want {
		v.Problem("%d pods are running at the same time, want %d", running, want)
	}
	return nil
}

// runningPods returns the number of running pods in the scenario's namespace.
func runningPods(ctx context.Context, b *bench.Bench) (running int, err error) {
	pods, err := b.Kube.Pods(ctx, b.Namespace)
	for _, pod := range pods {
		if pod.Status.Phase == corev1.PodRunning {
			running++
		}
	}
	return running, err
}

// startPlain starts a pod with one container and returns the agent's timeline after the start-up is settled.
func startPlain(ctx context.Context, b *bench.Bench, name, image string) (agent.Timeline, error) {
	spec := corev1.PodSpec{Containers: []corev1.Container{{Name: mainName, Image: image}}}
	if err := b.CreatePod(ctx, name, spec); err != nil {
		return agent.Timeline{}, err
	}
	if err := b.AwaitReady(ctx, name, startLimit); err != nil {
		return agent.Timeline{}, err
	}
	return b.AwaitSettled(ctx, name)
}

// sandboxPatience is the time that the agent waits for a pod's sandbox. If the sandbox takes longer, the agent opens an
// Event watch to learn the reason. The agent opens this watch even if the node already has all images.
const sandboxPatience = 2 * time.Second

// lateSandbox reports whether a pod might have waited longer than sandboxPatience for its sandbox. On a busy machine, a
// pod can wait longer than sandboxPatience.
func lateSandbox(timeline agent.Timeline) bool {
	acknowledged, _ := timeline.Milestone("acknowledged", "")
	running, _ := timeline.Milestone("sandbox_running", "")
	return running.Latest.Sub(acknowledged.Earliest) > sandboxPatience
}

// compareWatches compares the number of opened Event watches with the expected range.
func (v *Verdict) compareWatches(what string, between watchCounts, least, most float64) {
	v.Compared += 2
	wanted := fmt.Sprint(most)
	if least != most {
		wanted = fmt.Sprintf("%v to %v", least, most)
	}
	if n := between.openedWatches(); n < least || n > most {
		v.Problem("%s: the API server served %v Event watches, want %s", what, n, wanted)
	}
	if n := between.opened; n < least || n > most {
		v.Problem("%s: podlapse_event_watches_opened_total grew by %v, want %s", what, n, wanted)
	}
	v.Note("%s: %v Event watches, open for %.1f s, %v Events received, %v of them used", what, between.openedWatches(),
		between.openSeconds, between.received, between.itUsed)
}
