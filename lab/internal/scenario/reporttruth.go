package scenario

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/lab/internal/bench"
)

// reportTruth contains the true times with which the scenario compares a report. The times come from the logs of the
// registry, the runtime and the network plugin, from the scheduler's Events, and from the scenario's own watch.
type reportTruth struct {
	namespace string
	images    map[string]string        // the reference of the image, by workload
	pulls     map[string]time.Duration // the duration of the pull, by workload; only workloads that pulled an image
	startUps  map[string][]causeTimes  // by workload: the start-ups from creation to readiness
}

// causeTimes maps each cause to the time that the cause contributes to a start-up. The node itself does the work of
// three causes: volumesCause, networkCause and runtimeCause.
type causeTimes map[string]time.Duration

const (
	schedulerCause = "scheduler"
	volumesCause   = "volumes" // from the binding until the kubelet requests the sandbox
	networkCause   = "network"
	runtimeCause   = "runtime" // work from the sandbox request until the container runs, except network and pull
	appCause       = "app"     // from the time when the container runs until the pod is ready
)

func (c causeTimes) total() (sum time.Duration) {
	for _, length := range c {
		sum += length
	}
	return sum
}

func readReportTruth(ctx context.Context, b *bench.Bench, collector *bench.PullCollector, arrivals *bench.Arrivals,
	images map[string]string) (reportTruth, error) {
	t := reportTruth{b.Namespace, images, map[string]time.Duration{}, map[string][]causeTimes{}}
	unpacked := map[string]time.Duration{}
	for name, reference := range images {
		attempts, err := collector.Attempts(ctx, reference)
		if err != nil {
			return t, err
		}
		if len(attempts) != 1 {
			return t, fmt.Errorf("image %s: got %d pulls, want 1", reference, len(attempts))
		}
		call := attempts[0].Call.Length()
		// If an image reference contains the registry's second name, the collector does not read the registry's log for
		// this image. In this case, RegistryTime is zero.
		if t.pulls[name] = attempts[0].RegistryTime.Length(); t.pulls[name] == 0 {
			t.pulls[name] = call
		}
		unpacked[name] = call - t.pulls[name]
	}
	pods, err := b.Kube.Pods(ctx, b.Namespace)
	if err != nil {
		return t, err
	}
	for _, pod := range pods {
		name := pod.Labels["app"]
		times, err := readCauses(ctx, b, pod, arrivals.Of(pod.Name), t.pulls[name]+unpacked[name])
		if err != nil {
			return t, err
		}
		times[registryCause], times[diskCause] = t.pulls[name], unpacked[name]
		t.startUps[name] = append(t.startUps[name], times)
	}
	return t, nil
}

// readCauses returns how much time each cause contributes to a start-up. The result does not contain the causes of the
// pull. The caller adds these causes. The argument "pull" is the time from the kubelet's request for the image until
// the image was unpacked.
func readCauses(ctx context.Context, b *bench.Bench, pod corev1.Pod, seen bench.Arrival,
	pull time.Duration) (causeTimes, error) {
	if seen.ReadyAt.IsZero() {
		return nil, fmt.Errorf("the scenario's watch has not reported yet that pod %s is ready", pod.Name)
	}
	bound, err := b.BoundAt(ctx, pod.Name)
	if err != nil {
		return nil, err
	}
	network, err := b.NetworkTruth(pod.Name)
	if err != nil {
		return nil, err
	}
	log, err := b.RuntimeLog(pod.Name, seen.UID)
	if err != nil {
		return nil, err
	}
	running := log.RunningAt[mainName]
	if running.IsZero() {
		return nil, fmt.Errorf("containerd's log does not contain the start of the main container of pod %s", pod.Name)
	}
	work := running.Sub(log.SandboxRequestedAt)
	if pod.Labels["app"] == brokenName { // after its sandbox is ready, this pod still waits for its ConfigMap
		work -= log.StartRequestedAt[mainName].Sub(log.SandboxReadyAt)
	}
	return causeTimes{schedulerCause: bound.Sub(seen.CreatedAt), volumesCause: log.SandboxRequestedAt.Sub(bound),
		networkCause: network.Length(), runtimeCause: work - network.Length() - pull,
		appCause: seen.ReadyAt.Sub(running)}, nil
}

// isFar reports whether the image of a workload comes from the slow registry.
func isFar(workload string) bool { return strings.HasPrefix(workload, "far-") }

// sumOfPulls returns the total duration and the number of pulls. sumOfPulls considers only the workloads for which
// "selects" returns true.
func (t reportTruth) sumOfPulls(selects func(workload string) bool) (sum time.Duration, count int) {
	for name, length := range t.pulls {
		if selects(name) {
			sum, count = sum+length, count+1
		}
	}
	return sum, count
}

// registryFactor returns the factor of the slow registry: the true time of its pulls, divided by the expected time.
// docs/monitoring.md defines the expected time: 0.5 s for each pull, plus the time for the bytes of the pulls.
func (t reportTruth) registryFactor() float64 {
	const overhead, mebibyte = 0.5, 1 << 20
	slow, slowCount := t.sumOfPulls(isFar)
	others, count := t.sumOfPulls(func(name string) bool { return !isFar(name) })
	bytes := float64((count-1)*reportSize+reportLarge) / mebibyte
	perMebibyte := max(others.Seconds()-overhead*float64(count), others.Seconds()/10) / bytes
	expected := perMebibyte*float64(slowCount*reportSize)/mebibyte + overhead*float64(slowCount)
	return slow.Seconds() / expected
}

// imageFactor returns the duration of a workload's pull, divided by the mean duration of the other pulls.
func (t reportTruth) imageFactor(workload string) float64 {
	others, count := t.sumOfPulls(func(name string) bool { return name != workload })
	return t.pulls[workload].Seconds() * float64(count) / others.Seconds()
}

// For a workload with one pod, startUp returns the duration of the start-up and the expected duration. The expected
// duration is defined in docs/report.md. The expected duration is the sum of the expected times of all causes. The
// expected time of a cause is the shorter of two times: the workload's own time, and the mean time of the other
// start-ups. The other start-ups are the start-ups of all other workloads, and the start-ups on the slow node. The
// argument "slow" contains the start-ups on the slow node.
func (t reportTruth) startUp(workload string, slow []causeTimes) (total, expected time.Duration) {
	others := slow
	for name, startUps := range t.startUps {
		if name != workload {
			others = slices.Concat(others, startUps)
		}
	}
	mine := t.startUps[workload][0]
	for cause, length := range mine {
		var sum time.Duration
		for _, other := range others {
			sum += other[cause]
		}
		expected += min(length, sum/time.Duration(len(others)))
	}
	return mine.total(), expected
}

// meanWork returns the mean time that the node needed for the volumes, the network and the runtime of a start-up.
// meanWork ignores the start-up with the missing ConfigMap.
func (t reportTruth) meanWork() time.Duration {
	var all []time.Duration
	for name, startUps := range t.startUps {
		for _, s := range startUps {
			if name != brokenName {
				all = append(all, s[volumesCause]+s[networkCause]+s[runtimeCause])
			}
		}
	}
	return meanOf(all)
}
