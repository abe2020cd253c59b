package scenario

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/workload"
)

// testOutage stops the API server while a pod becomes ready.
func testOutage(ctx context.Context, b *bench.Bench, v *Verdict) error {
	const readyAfter = 8 * time.Second
	spec := corev1.PodSpec{Containers: []corev1.Container{bench.MainContainer(mainName, b.BaseImage, readyAfter)}}
	watched, stop := b.Watch(ctx)
	if err := b.CreatePod(ctx, "waits", spec); err != nil {
		return err
	}
	err := b.Node.Report.Wait(ctx, "pod \"waits\" to run", startLimit, 50*time.Millisecond,
		func(ctx context.Context) error {
			var pod corev1.Pod
			if err := b.Kube.Get(ctx, b.PodPath("waits"), &pod); err != nil {
				return err
			}
			if pod.Status.Phase != corev1.PodRunning {
				return errors.New(string(pod.Status.Phase))
			}
			// the agent must see the pod before the outage starts
			_, err := b.Agent.Timeline(ctx, b.Namespace, pod.Name)
			return err
		})
	uid := watched.Of("waits").UID
	if err := errors.Join(err, stop()); err != nil {
		return err
	}
	before, err := readTruth(ctx, b)
	if err != nil {
		return err
	}
	if err := b.Node.StopAPIServer(); err != nil {
		return err
	}
	interrupted := sleep(ctx, outage)
	startedAt := time.Now()
	// Even after an error, the scenario starts the API server again. The next user of the node expects a running API
	// server.
	back, cancel := context.WithTimeout(context.WithoutCancel(ctx), startLimit)
	defer cancel()
	if err := errors.Join(b.Node.StartAPIServer(back), interrupted); err != nil {
		return err
	}
	servesAt := time.Now()
	timeline, err := b.AwaitSettled(ctx, "waits")
	if err != nil {
		return err
	}
	v.Contract(timeline)
	v.Note("a pod became ready during the outage, and the agent reported it %s after the API server served again",
		time.Since(servesAt).Round(100*time.Millisecond))
	stated, err := b.WorkloadLog("waits", uid, mainName)
	if err != nil {
		return err
	}
	v.Compared += 2
	milestone, ok := timeline.Milestone("ready", "")
	if passed := stated[workload.WordReady]; !ok || milestone.Latest.Before(passed) ||
		milestone.Earliest.After(passed.Add(time.Second)) {
		v.Problem("pod \"waits\" passed its probe at %s, but the agent reports that the pod became ready between %s "+
			"and %s", passed, milestone.Earliest, milestone.Latest)
	}
	if milestone.Latest.After(startedAt) {
		v.Problem("pod \"waits\" became ready during the outage, but the agent reports a time between %s and %s; the "+
			"outage ended at %s", milestone.Earliest, milestone.Latest, startedAt)
	}
	judgeOutage(ctx, b, v, before, servesAt)
	return b.Node.Reconnect(ctx)
}

// judgeOutage checks the results of the agent's regular comparisons. In each comparison, the agent compares the pods
// from its watch with a list of pods. During the outage, at least two comparisons must fail or be skipped. A comparison
// must not report an error of the watch.
func judgeOutage(ctx context.Context, b *bench.Bench, v *Verdict, before watchTruth, servesAt time.Time) {
	var after watchTruth
	err := b.Node.Report.Wait(ctx, "a comparison after the outage", 3*verifyInterval, 200*time.Millisecond,
		func(ctx context.Context) error {
			now, err := readTruth(ctx, b)
			if err != nil {
				return err
			}
			if after = now.growthSince(before); !now.verifiedAt.After(servesAt) {
				return errors.New("the agent has not completed a comparison that started after the outage")
			}
			return nil
		})
	if err != nil {
		v.Problem("%v", err)
	}
	v.Compared += 3
	if after.missing+after.extra+after.stale != 0 {
		v.Problem("an outage must not count as an error of the watch, but the agent counted %+v", after)
	}
	if after.failed+after.skipped < 2 {
		v.Problem("in %s without an API server, comparisons run every %s, so at least 2 must fail or be "+
			"skipped, but only %v did", outage,
			verifyInterval, after.failed+after.skipped)
	}
	if after.boundCount != 0 {
		v.Problem("no pod was created during the outage, but the agent reports %v late pods", after.boundCount)
	}
	v.Note("during an outage of %s: %+v", outage, after)
}
