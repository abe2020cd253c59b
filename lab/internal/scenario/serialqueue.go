package scenario

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"golang.org/x/sync/errgroup"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/bench"
)

// queuedPod is one pod of the scenario, with the true times of its pull.
type queuedPod struct {
	name        string
	requestedAt time.Time  // time when the kubelet queued the pull
	pull        bench.Span // start and end of the pull, according to the registry's log
	timeline    agent.Timeline
}

// serialQueue creates four pods at the same time. The node must pull a different image for each pod. The kubelet pulls
// one image at a time, so the last pod waits for three pulls. The agent must report the wait for other pulls as queue
// time and not as pull time. On a busy machine, tasks can wait for CPU time or the disk near the start or the end of a
// pull. The scenario measures these waits, and accepts a larger difference if tasks waited.
func serialQueue(ctx context.Context, b *bench.Bench, v *Verdict) error {
	const count = 4
	pods := make([]queuedPod, count)
	images := make([]string, count)
	for i := range pods {
		pods[i].name = fmt.Sprintf("pod-%d", i+1)
		var err error
		if images[i], err = b.Image(ctx, pods[i].name, coldLayer); err != nil {
			return err
		}
	}
	if err := b.Throttle(ctx, pullRate); err != nil {
		return err
	}
	before, err := b.KubeletPullSeconds(ctx)
	if err != nil {
		return err
	}
	waits, err := sampleWaits()
	if err != nil {
		return err
	}
	defer waits.stop()
	create, together := errgroup.WithContext(ctx)
	for i, pod := range pods {
		create.Go(func() error {
			spec := corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: images[i]}}}
			return b.CreatePod(together, pod.name, spec)
		})
	}
	if err := create.Wait(); err != nil {
		return err
	}
	for i := range pods {
		if err := pods[i].observe(ctx, b); err != nil {
			return err
		}
	}
	after, err := b.KubeletPullSeconds(ctx)
	if err != nil {
		return err
	}
	slices.SortFunc(pods, func(a, b queuedPod) int { return a.pull.StartAt.Compare(b.pull.StartAt) })
	waits.stop()
	judgeQueue(pods, waits, v)
	var truth time.Duration
	for _, pod := range pods {
		truth += pod.pull.Length()
	}
	v.Note("the kubelet's metric kubelet_image_pull_duration_seconds reports %.1f s for the pulls; the registry was "+
		"busy for %.1f s",
		after-before, truth.Seconds())
	return nil
}

func (q *queuedPod) observe(ctx context.Context, b *bench.Bench) error {
	if err := b.AwaitReady(ctx, q.name, 2*time.Minute); err != nil {
		return err
	}
	var err error
	if q.timeline, err = b.AwaitSettled(ctx, q.name); err != nil {
		return err
	}
	if q.pull, err = b.PullTruth(ctx, q.name); err != nil {
		return err
	}
	q.requestedAt, err = b.PullRequestedAt(ctx, q.name)
	return err
}

// judgeQueue checks how long the pull of each pod waited in the queue, and how long the pull took. The pods are in the
// order of their pulls.
func judgeQueue(pods []queuedPod, waits waitSamplers, v *Verdict) {
	for i, pod := range pods {
		// Each previous pull also needs time to resolve the image's name and to unpack the image.
		const besides = 70 * time.Millisecond
		turn := time.Duration(i) * (pullTime + besides)
		queued := bench.Span{StartAt: pod.requestedAt, EndAt: pod.pull.StartAt}
		v.comparePull(pod, "queue", turn, queued, waits, func(p agent.Pull) (time.Duration, error) {
			return agent.Nanoseconds(p.QueueSeconds)
		})
		v.comparePull(pod, "pull", pullTime, pod.pull, waits, func(p agent.Pull) (time.Duration, error) {
			return agent.Nanoseconds(p.PullSeconds)
		})
		if i > 0 && pod.pull.StartAt.Before(pods[i-1].pull.EndAt) {
			v.Problem("the pulls of %s and %s overlap, want one pull at a time: the scenario is not "+
				"conclusive", pods[i-1].name, pod.name)
		}
		v.Contract(pod.timeline)
		v.requireDownload(pod.timeline, "main")
	}
}

// comparePull compares one reported duration with the truth. The duration is the queue time or the pull time of the
// pod's container "main".
func (v *Verdict) comparePull(pod queuedPod, what string, injected time.Duration, truth bench.Span, waits waitSamplers,
	measure func(agent.Pull) (time.Duration, error)) {
	entry, there := pod.timeline.PullOf("main")
	var measured time.Duration
	if there {
		var err error
		if measured, err = measure(entry); err != nil {
			there = false
			v.Problem("pod %s: cannot read the %s duration of the pull: %v", pod.name, what, err)
		}
	}
	v.Compare(pod.name+" "+what, injected, truth.Length(), measured, there, limit+waits.waitedNear(truth))
}

// requireDownload requires that the agent reports a download of the container's image.
func (v *Verdict) requireDownload(timeline agent.Timeline, container string) {
	entry, there := timeline.PullOf(container)
	switch {
	case !there:
		v.Problem("pod %s: the agent reports no pull for container %s, want one", timeline.Name, container)
	case entry.Outcome != "downloaded":
		v.Problem("pod %s: the image of container %s was downloaded, but the agent reports %q", timeline.Name,
			container,
			entry.Outcome)
	}
}
