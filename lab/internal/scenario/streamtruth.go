package scenario

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/metrics"
	"github.com/podlapse/podlapse/lab/internal/node"
	"github.com/podlapse/podlapse/lab/internal/watchproxy"
)

// Intervals and delays of the scenario. If watch events are late by watchBehind, the agent must find a difference
// between its pods and a list of pods.
const (
	verifyInterval = 10 * time.Second
	watchBehind    = 25 * time.Second
	outage         = 30 * time.Second
	// watchLate is a delay that the agent accepts, so a watch with this delay counts as correct.
	watchLate = 4 * time.Second
)

// streamTruth runs the agent behind a proxy that delays or drops events of the pod watch. The agent compares its pods
// with a list of pods. The agent must correct exactly the pods whose events are lost or too late. Then the scenario
// stops the API server for half a minute. The agent must not report the outage of the API server as an error of the
// watch.
func streamTruth(ctx context.Context, b *bench.Bench, v *Verdict) error {
	as, err := b.Node.KubeAsAgent()
	if err != nil {
		return err
	}
	defer as.Close()
	proxy, err := watchproxy.Start(ctx, as.Server(), as.Transport())
	if err != nil {
		return err
	}
	// The agent uses the proxy until the scenario ends.
	defer proxy.Close()
	kubeconfig, err := b.Node.ProxyKubeconfig("scenario-proxy", proxy.URL())
	if err != nil {
		return err
	}
	for _, pod := range []string{"gone", "changed"} {
		if err := b.CreatePod(ctx, pod,
			corev1.PodSpec{Containers: []corev1.Container{{Name: mainName, Image: b.BaseImage}}}); err != nil {
			return err
		}
		if err := b.AwaitReady(ctx, pod, startLimit); err != nil {
			return err
		}
	}
	flags := []string{"--kubeconfig=" + kubeconfig, "--verify-interval=" + verifyInterval.String(), "--watch-delays",
		"--serve-objects"}
	if err := b.Node.RestartAgentWith(ctx, node.AgentChange{Flags: flags}); err != nil {
		return err
	}
	behind, err := dropAndDelayEvents(ctx, b, v, proxy)
	if err != nil {
		return err
	}
	if err := behind(); err != nil {
		return err
	}
	proxy.Break(nil)
	err = b.Node.Report.Wait(ctx, "the delayed events to be sent", watchBehind, 50*time.Millisecond,
		func(context.Context) error {
			if held := proxy.Held(); held > 0 {
				return fmt.Errorf("the proxy still delays %d watch events", held)
			}
			return nil
		})
	if err != nil {
		return err
	}
	if err := judgeLate(ctx, b, v, proxy); err != nil {
		return err
	}
	if err := judgeEnd(ctx, b, v); err != nil {
		return err
	}
	return testOutage(ctx, b, v)
}

// judgeLate delays all watch events about a pod by watchLate. The agent must report the delay, but must not report an
// error of the watch.
func judgeLate(ctx context.Context, b *bench.Bench, v *Verdict, proxy *watchproxy.Proxy) error {
	const pod = "late"
	before, err := readTruth(ctx, b)
	if err != nil {
		return err
	}
	proxy.Break(func(_ watch.EventType, reported corev1.Pod) watchproxy.Fault {
		if reported.Namespace == b.Namespace && reported.Name == pod {
			return watchproxy.Fault{Delay: watchLate}
		}
		return watchproxy.Fault{}
	})
	defer proxy.Break(nil)
	spec := corev1.PodSpec{Containers: []corev1.Container{bench.MainContainer(mainName, b.BaseImage, time.Second)}}
	if err := b.CreatePod(ctx, pod, spec); err != nil {
		return err
	}
	timeline, err := b.AwaitSettled(ctx, pod)
	if err != nil {
		return err
	}
	v.Contract(timeline)
	// If the agent starts a comparison now, it must wait for the delayed watch events. Then the agent must find no
	// difference.
	if err := sleep(ctx, verifyInterval+verifyInterval/10+2*watchLate); err != nil {
		return err
	}
	now, err := readTruth(ctx, b)
	if err != nil {
		return err
	}
	reported := now.growthSince(before)
	v.Compared += 3
	for _, change := range []struct {
		name           string
		count, seconds float64
	}{{"bound", reported.boundCount, reported.boundSeconds},
		{"modified", reported.modifiedCount, reported.modifiedSeconds}} {
		// For two reasons, the mean can be longer than the delay of the events. The timestamps are truncated to
		// seconds, and the kubelet needs time to send the pod's status.
		mean := time.Duration(change.seconds / change.count * float64(time.Second))
		if change.count < 1 || mean < watchLate-50*time.Millisecond || mean > watchLate+1500*time.Millisecond {
			v.Problem("every event about pod %s was %s late, but the agent reports %v changes %q with an "+
				"average delay of %s", pod,
				watchLate, change.count, change.name, mean)
		}
		v.Note("events that were %s late: the agent reports %v changes %s with an average delay of %s", watchLate,
			change.count, change.name,
			mean.Round(time.Millisecond))
	}
	if reported.missing+reported.extra+reported.stale != 0 || reported.complete < 1 {
		v.Problem("a watch that is %s late must count as correct, but %v comparisons of the agent found %+v", watchLate,
			reported.complete, reported)
	}
	return nil
}

// judgeEnd deletes a pod with a grace period. The grace period must not count as a delay of the watch.
func judgeEnd(ctx context.Context, b *bench.Bench, v *Verdict) error {
	const pod = "changed"
	read := func() (counts, sums [2]float64, err error) {
		text, err := b.Agent.Metrics(ctx)
		for i, change := range []string{"deleting", "deleted"} {
			var none, wrong error
			counts[i], none = metrics.Sum(text, "podlapse_pod_watch_delay_seconds_count", `change="`+change+`"`)
			sums[i], wrong = metrics.Sum(text, "podlapse_pod_watch_delay_seconds_sum", `change="`+change+`"`)
			err = errors.Join(err, none, wrong)
		}
		return counts, sums, err
	}
	before, sumBefore, err := read()
	if err != nil {
		return err
	}
	if err := errors.Join(b.DeletePod(ctx, pod), b.AwaitGone(ctx, pod)); err != nil {
		return err
	}
	if err := sleep(ctx, 500*time.Millisecond); err != nil { // the watch needs this time to deliver the deletion
		return err
	}
	after, sumAfter, err := read()
	if err != nil {
		return err
	}
	for i, change := range []string{"deleting", "deleted"} {
		count, late := after[i]-before[i], sumAfter[i]-sumBefore[i]
		v.Compared += 2
		if count != 1 || late > 1.5 {
			v.Problem("after the deletion of a pod, the agent reports %v delays of change %s and %.3f s in "+
				"total, want 1 and at most 1.5 s", count, change, late)
		}
		v.Note("after the deletion of a pod, the agent reports change %s with a delay of %.3f s", change, late)
	}
	return nil
}

// dropAndDelayEvents drops or delays watch events, and waits until the agent has found all differences. The returned
// function waits for the delayed events.
func dropAndDelayEvents(ctx context.Context, b *bench.Bench, v *Verdict,
	proxy *watchproxy.Proxy) (behind func() error, err error) {
	proxy.Break(func(_ watch.EventType, pod corev1.Pod) watchproxy.Fault {
		switch {
		case pod.Namespace != b.Namespace:
			return watchproxy.Fault{}
		case pod.Name == "behind":
			return watchproxy.Fault{Delay: watchBehind}
		}
		return watchproxy.Fault{Lost: true}
	})
	before, err := readTruth(ctx, b)
	if err != nil {
		return nil, err
	}
	plain := corev1.PodSpec{Containers: []corev1.Container{{Name: mainName, Image: b.BaseImage}}}
	created, err := bench.Dated(func() error { return b.CreatePod(ctx, "behind", plain) })
	if err != nil {
		return nil, err
	}
	if err := b.CreatePod(ctx, "lost", plain); err != nil {
		return nil, err
	}
	if err := b.Kube.Delete(ctx, b.PodPath("gone")+"?gracePeriodSeconds=0"); err != nil {
		return nil, err
	}
	if err := b.Kube.Merge(ctx, b.PodPath("changed"),
		map[string]any{"metadata": map[string]any{"labels": map[string]string{"changed": "yes"}}}); err != nil {
		return nil, err
	}
	var found watchTruth
	err = b.Node.Report.Wait(ctx, "the agent to find the events that the watch did not deliver", 40*time.Second,
		200*time.Millisecond,
		func(ctx context.Context) error {
			now, err := readTruth(ctx, b)
			if err != nil {
				return err
			}
			if found = now.growthSince(before); found.missing < 2 || found.extra < 1 || found.stale < 1 {
				return fmt.Errorf("the agent has found only these differences: %+v", found)
			}
			return nil
		})
	if err != nil {
		v.Problem("%v", err)
	}
	v.Compared += 3
	if found.missing != 2 || found.extra != 1 || found.stale != 1 {
		v.Problem("the proxy withheld 2 new pods, 1 deletion and 1 change, but the agent found %+v", found)
	}
	v.Note("%s after the fault, the agent found: %+v", time.Since(created.EndAt).Round(100*time.Millisecond), found)
	if err := judgeObjects(ctx, b, v); err != nil {
		return nil, err
	}
	for _, pod := range []string{"behind", "lost"} {
		timeline, err := b.AwaitSettled(ctx, pod)
		if err != nil {
			return nil, err
		}
		v.Contract(timeline)
	}
	return func() error { return judgeDelay(ctx, b, v, before, created) }, nil
}

// judgeDelay waits for the delayed events. The agent must report the delay of the events. The reported delay is allowed
// to be up to 1.5 s too long.
func judgeDelay(ctx context.Context, b *bench.Bench, v *Verdict, before watchTruth, created bench.Span) error {
	var reported watchTruth
	err := b.Node.Report.Wait(ctx, "the watch to deliver the delayed events", 2*watchBehind, 200*time.Millisecond,
		func(ctx context.Context) error {
			now, err := readTruth(ctx, b)
			if err != nil {
				return err
			}
			if reported = now.growthSince(before); reported.boundCount < 1 {
				return errors.New("the agent has not received the delayed watch events")
			}
			return nil
		})
	if err != nil {
		return err
	}
	v.Compared += 3
	// The scheduler binds the pod some milliseconds after the creation of the pod. The agent receives the event some
	// milliseconds after the end of the delay.
	late := time.Duration(reported.boundSeconds * float64(time.Second))
	if reported.boundCount != 1 || late < watchBehind-50*time.Millisecond || late > watchBehind+1500*time.Millisecond {
		v.Problem("a pod that was bound at %s arrived %s later, but the agent reports %v delays of %s in total, "+
			"want 1 of this duration", created.EndAt, watchBehind,
			reported.boundCount, late)
	}
	v.Note("a pod arrived %s late; the agent reports a delay of %s", watchBehind, late.Round(time.Millisecond))
	if reported.missing != 2 || reported.extra != 1 || reported.stale != 1 {
		v.Problem("the agent must count 2 missing, 1 extra and 1 stale pod once, but counted late events again: %+v",
			reported)
	}
	return nil
}

// judgeObjects requires that the agent's repaired cache contains the same pods as the API server, with the same
// resource versions.
func judgeObjects(ctx context.Context, b *bench.Bench, v *Verdict) error {
	served, err := b.Agent.Objects(ctx, b.Namespace)
	if err != nil {
		return err
	}
	truth, err := b.Kube.Pods(ctx, b.Namespace)
	if err != nil {
		return err
	}
	versions := map[string]string{}
	for _, pod := range truth {
		versions[pod.Name] = pod.ResourceVersion
	}
	for _, pod := range served.Items {
		if versions[pod.Name] != pod.ResourceVersion {
			v.Problem("the agent serves %s with resource version %s, want %q", pod.Name, pod.ResourceVersion,
				versions[pod.Name])
		}
		delete(versions, pod.Name)
	}
	v.Compared += len(served.Items) + 1
	if len(versions) > 0 || len(served.Items) == 0 {
		v.Problem("the agent must serve all pods, but these are missing: %v", versions)
	}
	if age := time.Since(served.Cache.VerifiedAt); age > 2*verifyInterval {
		v.Problem("the agent's objects were last verified %s ago, want at most two intervals", age)
	}
	return nil
}
