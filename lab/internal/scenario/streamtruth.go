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
	"github.com/podlapse/podlapse/lab/internal/workload"
)

// How far the watch is behind, longer than the agent needs to notice: an interval, a tenth more, and its patience, twice.
const (
	verifyInterval = 10 * time.Second
	watchBehind    = 25 * time.Second
	outage         = 30 * time.Second
	// watchLate is shorter than the agent's patience: nothing is wrong with such a watch.
	watchLate = 4 * time.Second
)

// streamTruth runs the agent behind a proxy that holds back or loses what the pod watch tells: a comparison with a list has to find
// exactly that, and repair it. Then the API server is away for half a minute, which must look like nothing of the sort.
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
	// Not before the agent: it would ask an address that nobody serves any more.
	defer proxy.Close()
	kubeconfig, err := b.Node.ProxyKubeconfig("scenario-proxy", proxy.URL())
	if err != nil {
		return err
	}
	for _, pod := range []string{"gone", "changed"} {
		if err := b.CreatePod(ctx, pod, corev1.PodSpec{Containers: []corev1.Container{{Name: mainName, Image: b.BaseImage}}}); err != nil {
			return err
		}
		if err := b.AwaitReady(ctx, pod, startLimit); err != nil {
			return err
		}
	}
	flags := []string{"--kubeconfig=" + kubeconfig, "--verify-interval=" + verifyInterval.String(), "--watch-delays", "--serve-objects"}
	if err := b.Node.RestartAgentWith(ctx, node.AgentChange{Flags: flags}); err != nil {
		return err
	}
	behind, err := loseAndHoldBack(ctx, b, v, proxy)
	if err != nil {
		return err
	}
	if err := behind(); err != nil {
		return err
	}
	proxy.Break(nil)
	err = b.Node.Report.Wait(ctx, "what was held back to pass", watchBehind, 50*time.Millisecond, func(context.Context) error {
		if held := proxy.Held(); held > 0 {
			return fmt.Errorf("%d events are held", held)
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
	return sitOutAnOutage(ctx, b, v)
}

// judgeLate has all that is told of a pod come late, its changes as well, and by less than what is called wrong.
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
	// A comparison that begins now has to wait for the watch, and to find nothing.
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
	}{{"bound", reported.boundCount, reported.boundSeconds}, {"modified", reported.modifiedCount, reported.modifiedSeconds}} {
		// Whole seconds, cut off, and what kubelet took to send its status.
		mean := time.Duration(change.seconds / change.count * float64(time.Second))
		if change.count < 1 || mean < watchLate-50*time.Millisecond || mean > watchLate+1500*time.Millisecond {
			v.Problem("all of pod %s came %s late: %v changes %q are told as %s late on average", pod, watchLate, change.count, change.name, mean)
		}
		v.Note("what came %s late: %v %s, told as %s on average", watchLate, change.count, change.name, mean.Round(time.Millisecond))
	}
	if reported.missing+reported.extra+reported.stale != 0 || reported.complete < 1 {
		v.Problem("a watch that is %s late is not wrong; of %v comparisons the agent found %+v", watchLate, reported.complete, reported)
	}
	return nil
}

// judgeEnd deletes a pod with a grace period, which must be no delay.
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
			v.Problem("a pod was deleted: %v delays are told of %s, together %.3f s", count, change, late)
		}
		v.Note("a pod was deleted: %s was heard %.3f s later at most", change, late)
	}
	return nil
}

// loseAndHoldBack breaks the watch and waits until the agent has found all of it. What it returns waits for what was held back.
func loseAndHoldBack(ctx context.Context, b *bench.Bench, v *Verdict, proxy *watchproxy.Proxy) (behind func() error, err error) {
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
	if err := b.Kube.Merge(ctx, b.PodPath("changed"), map[string]any{"metadata": map[string]any{"labels": map[string]string{"changed": "yes"}}}); err != nil {
		return nil, err
	}
	var found truth
	err = b.Node.Report.Wait(ctx, "the agent to find what the watch did not tell", 40*time.Second, 200*time.Millisecond, func(ctx context.Context) error {
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
		v.Problem("2 pods were withheld, the end of 1 and the change of 1; the agent found %+v", found)
	}
	v.Note("found %s after it was broken: %+v", time.Since(created.EndAt).Round(100*time.Millisecond), found)
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

// judgeDelay waits until what was held back has come: it is late by so much, and up to a second more.
func judgeDelay(ctx context.Context, b *bench.Bench, v *Verdict, before truth, created bench.Span) error {
	var reported truth
	err := b.Node.Report.Wait(ctx, "the watch to tell what was held back", 2*watchBehind, 200*time.Millisecond, func(ctx context.Context) error {
		now, err := readTruth(ctx, b)
		if err != nil {
			return err
		}
		if reported = now.minus(before); reported.boundCount < 1 {
			return errors.New("it has not")
		}
		return nil
	})
	if err != nil {
		return err
	}
	v.Compared += 3
	// Bound some milliseconds after its creation, told some milliseconds after the delay.
	late := time.Duration(reported.boundSeconds * float64(time.Second))
	if reported.boundCount != 1 || late < watchBehind-50*time.Millisecond || late > watchBehind+1500*time.Millisecond {
		v.Problem("a pod bound at %s came %s later: %v delays are told, together %s", created.EndAt, watchBehind, reported.boundCount, late)
	}
	v.Note("a pod that came %s late: told as %s", watchBehind, late.Round(time.Millisecond))
	if reported.missing != 2 || reported.extra != 1 || reported.stale != 1 {
		v.Problem("what came late was found wrong again: %+v", reported)
	}
	return nil
}

// judgeObjects wants the repaired cache to be the API server's.
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
			v.Problem("the agent serves %s as of %s, it is %q", pod.Name, pod.ResourceVersion, versions[pod.Name])
		}
		delete(versions, pod.Name)
	}
	v.Compared += len(served.Items) + 1
	if len(versions) > 0 || len(served.Items) == 0 {
		v.Problem("the agent serves no %v", versions)
	}
	if age := time.Since(served.Cache.VerifiedAt); age > 2*verifyInterval {
		v.Problem("the agent's objects were verified %s ago", age)
	}
	return nil
}

// sitOutAnOutage stops the API server while a pod becomes ready.
func sitOutAnOutage(ctx context.Context, b *bench.Bench, v *Verdict) error {
	const readyAfter = 8 * time.Second
	spec := corev1.PodSpec{Containers: []corev1.Container{bench.MainContainer(mainName, b.BaseImage, readyAfter)}}
	watched, stop := b.Watch(ctx)
	if err := b.CreatePod(ctx, "waits", spec); err != nil {
		return err
	}
	err := b.Node.Report.Wait(ctx, "pod waits to run", startLimit, 50*time.Millisecond, func(ctx context.Context) error {
		var pod corev1.Pod
		if err := b.Kube.Get(ctx, b.PodPath("waits"), &pod); err != nil {
			return err
		}
		if pod.Status.Phase != corev1.PodRunning {
			return errors.New(string(pod.Status.Phase))
		}
		_, err := b.Agent.Timeline(ctx, b.Namespace, pod.Name) // the agent has heard of it before the outage
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
	// Even then: whoever uses the node next expects an API server.
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
	v.Note("the agent told of a pod that became ready meanwhile %s after the API server served again", time.Since(servesAt).Round(100*time.Millisecond))
	stated, err := b.WorkloadLog("waits", uid, mainName)
	if err != nil {
		return err
	}
	v.Compared += 2
	milestone, ok := timeline.Milestone("ready", "")
	if passed := stated[workload.WordReady]; !ok || milestone.Latest.Before(passed) || milestone.Earliest.After(passed.Add(time.Second)) {
		v.Problem("pod waits passed its probe at %s, the agent has it ready between %s and %s", passed, milestone.Earliest, milestone.Latest)
	}
	if milestone.Latest.After(startedAt) {
		v.Problem("pod waits is dated by when the API server was back: ready between %s and %s", milestone.Earliest, milestone.Latest)
	}
	var after truth
	err = b.Node.Report.Wait(ctx, "a comparison after the outage", 3*verifyInterval, 200*time.Millisecond, func(ctx context.Context) error {
		now, err := readTruth(ctx, b)
		if err != nil {
			return err
		}
		if after = now.minus(before); !now.verifiedAt.After(servesAt) {
			return errors.New("there was none yet")
		}
		return nil
	})
	if err != nil {
		v.Problem("%v", err)
	}
	v.Compared += 3
	if after.missing+after.extra+after.stale != 0 {
		v.Problem("an outage is no fault of the watch, the agent found %+v", after)
	}
	if after.failed+after.skipped < 2 {
		v.Problem("in %s without an API server, comparisons every %s failed or were skipped %v times", outage, verifyInterval, after.failed+after.skipped)
	}
	if after.boundCount != 0 {
		v.Problem("no pod came, and %v are told to have come late", after.boundCount)
	}
	v.Note("over an outage of %s: %+v", outage, after)
	return b.Node.Reconnect(ctx)
}

// truth is what the agent counts of its watch.
type truth struct {
	complete, failed, skipped float64
	missing, extra, stale     float64
	boundCount, boundSeconds  float64

	modifiedCount, modifiedSeconds float64
	verifiedAt                     time.Time
}

func readTruth(ctx context.Context, b *bench.Bench) (now truth, err error) {
	text, err := b.Agent.Metrics(ctx)
	if err != nil {
		return truth{}, err
	}
	read := func(into *float64, name string, labels ...string) {
		var wrong error
		*into, wrong = metrics.Sum(text, name, labels...)
		err = errors.Join(err, wrong)
	}
	var verified float64
	read(&now.complete, "podlapse_pod_cache_verifications_total", `result="complete"`)
	read(&now.failed, "podlapse_pod_cache_verifications_total", `result="failed"`)
	read(&now.skipped, "podlapse_pod_cache_verifications_total", `result="skipped"`)
	read(&now.missing, "podlapse_pod_cache_repairs_total", `difference="missing"`)
	read(&now.extra, "podlapse_pod_cache_repairs_total", `difference="extra"`)
	read(&now.stale, "podlapse_pod_cache_repairs_total", `difference="stale"`)
	read(&now.boundCount, "podlapse_pod_watch_delay_seconds_count", `change="bound"`)
	read(&now.boundSeconds, "podlapse_pod_watch_delay_seconds_sum", `change="bound"`)
	read(&now.modifiedCount, "podlapse_pod_watch_delay_seconds_count", `change="modified"`)
	read(&now.modifiedSeconds, "podlapse_pod_watch_delay_seconds_sum", `change="modified"`)
	read(&verified, "podlapse_pod_cache_verified_timestamp_seconds")
	now.verifiedAt = time.Unix(0, int64(verified*1e9))
	return now, err
}

// minus is what was counted since; when it was verified stays.
func (t truth) minus(before truth) truth {
	return truth{
		t.complete - before.complete, t.failed - before.failed, t.skipped - before.skipped,
		t.missing - before.missing, t.extra - before.extra, t.stale - before.stale,
		t.boundCount - before.boundCount, t.boundSeconds - before.boundSeconds,
		t.modifiedCount - before.modifiedCount, t.modifiedSeconds - before.modifiedSeconds, t.verifiedAt,
	}
}
