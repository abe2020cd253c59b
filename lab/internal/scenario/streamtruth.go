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

// The delay of the watch: longer than the agent needs to notice it. The agent needs at most two intervals, plus a
// tenth, plus its patience.
const (
	verifyInterval = 10 * time.Second
	watchBehind    = 25 * time.Second
	outage         = 30 * time.Second
	// watchLate is shorter than the agent's patience, so such a watch counts as correct.
	watchLate = 4 * time.Second
)

// streamTruth runs the agent behind a proxy that delays or drops events of the pod watch. A comparison with a list must
// find exactly these, and repair them. Then the API server is down for half a minute, which must not be reported as
// such an error.
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
	// The proxy must outlive the agent, which would otherwise query a closed address.
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
				return fmt.Errorf("%d events are still delayed", held)
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

// judgeLate delays everything about a pod, including its changes, by less than the agent's limit for an error.
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
	// A comparison that starts now has to wait for the watch, and must find nothing.
	if err := sleep(ctx, verifyInterval+verifyInterval/10+2*watchLate); err != nil {
		return err
	}
	now, err := readTruth(ctx, b)
	if err != nil {
		return err
	}
	reported := now.minus(before)
	v.Compared += 3
	for _, change := range []struct {
		name           string
		count, seconds float64
	}{{"bound", reported.boundCount, reported.boundSeconds},
		{"modified", reported.modifiedCount, reported.modifiedSeconds}} {
		// The timestamps are truncated to seconds, and the kubelet needs time to send its status.
		mean := time.Duration(change.seconds / change.count * float64(time.Second))
		if change.count < 1 || mean < watchLate-50*time.Millisecond || mean > watchLate+1500*time.Millisecond {
			v.Problem("everything about pod %s was %s late: %v changes %q are reported as %s late on average", pod,
				watchLate, change.count, change.name, mean)
		}
		v.Note("events that were %s late: %v %s, reported as %s on average", watchLate, change.count, change.name,
			mean.Round(time.Millisecond))
	}
	if reported.missing+reported.extra+reported.stale != 0 || reported.complete < 1 {
		v.Problem("a watch that is %s late is correct, but in %v comparisons the agent found %+v", watchLate,
			reported.complete, reported)
	}
	return nil
}

// judgeEnd deletes a pod with a grace period, which must not count as a delay.
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
	if err := sleep(ctx, 500*time.Millisecond); err != nil { // for the watch
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
			v.Problem("a pod was deleted: %v delays of %s are reported, together %.3f s", count, change, late)
		}
		v.Note("a pod was deleted: %s is reported at most %.3f s late", change, late)
	}
	return nil
}

// dropAndDelayEvents breaks the watch and waits until the agent has found everything. The returned function waits for
// the delayed events.
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
	var found truth
	err = b.Node.Report.Wait(ctx, "the agent to find what the watch lost", 40*time.Second, 200*time.Millisecond,
		func(ctx context.Context) error {
			now, err := readTruth(ctx, b)
			if err != nil {
				return err
			}
			if found = now.minus(before); found.missing < 2 || found.extra < 1 || found.stale < 1 {
				return fmt.Errorf("it found %+v", found)
			}
			return nil
		})
	if err != nil {
		v.Problem("%v", err)
	}
	v.Compared += 3
	if found.missing != 2 || found.extra != 1 || found.stale != 1 {
		v.Problem("2 pods, the deletion of 1 and the change of 1 were withheld; the agent found %+v", found)
	}
	v.Note("found %s after the fault: %+v", time.Since(created.EndAt).Round(100*time.Millisecond), found)
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

// judgeDelay waits until the delayed events have arrived. They must be reported as this late, or up to a second more.
func judgeDelay(ctx context.Context, b *bench.Bench, v *Verdict, before truth, created bench.Span) error {
	var reported truth
	err := b.Node.Report.Wait(ctx, "the watch to deliver the delayed events", 2*watchBehind, 200*time.Millisecond,
		func(ctx context.Context) error {
			now, err := readTruth(ctx, b)
			if err != nil {
				return err
			}
			if reported = now.minus(before); reported.boundCount < 1 {
				return errors.New("they have not arrived")
			}
			return nil
		})
	if err != nil {
		return err
	}
	v.Compared += 3
	// The pod was bound some milliseconds after its creation, and its event arrived some milliseconds after the delay.
	late := time.Duration(reported.boundSeconds * float64(time.Second))
	if reported.boundCount != 1 || late < watchBehind-50*time.Millisecond || late > watchBehind+1500*time.Millisecond {
		v.Problem("a pod bound at %s arrived %s later: %v delays are reported, together %s", created.EndAt, watchBehind,
			reported.boundCount, late)
	}
	v.Note("a pod that arrived %s late: reported as %s", watchBehind, late.Round(time.Millisecond))
	if reported.missing != 2 || reported.extra != 1 || reported.stale != 1 {
		v.Problem("the agent counted late events as errors of the watch a second time: %+v", reported)
	}
	return nil
}

// judgeObjects requires that the repaired cache equals the API server's objects.
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
		v.Problem("the agent does not serve %v", versions)
	}
	if age := time.Since(served.Cache.VerifiedAt); age > 2*verifyInterval {
		v.Problem("the agent's objects were last verified %s ago", age)
	}
	return nil
}
