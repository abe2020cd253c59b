package scenario

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/node"
)

// reportTruth contains the true times for the comparison with a report. The times come from the registry's log, the
// runtime's log, and the scenario's own watch.
type reportTruth struct {
	namespace string
	images    map[string]string          // reference of the image by workload
	pulls     map[string]time.Duration   // pull by workload, for the workloads that pulled an image
	startUps  map[string][]time.Duration // start-ups from the creation until the pod was ready, by workload
}

func readReportTruth(ctx context.Context, b *bench.Bench, collector *bench.PullCollector, arrivals *bench.Arrivals,
	images map[string]string) (reportTruth, error) {
	t := reportTruth{b.Namespace, images, map[string]time.Duration{}, map[string][]time.Duration{}}
	for name, reference := range images {
		attempts, err := collector.Attempts(ctx, reference)
		if err != nil {
			return t, err
		}
		if len(attempts) != 1 {
			return t, fmt.Errorf("image %s: %d pulls, want 1", reference, len(attempts))
		}
		// The registry's log has no requests for the second name of the registry.
		if t.pulls[name] = attempts[0].Asked.Length(); t.pulls[name] == 0 {
			t.pulls[name] = attempts[0].Call.Length()
		}
	}
	pods, err := b.Kube.Pods(ctx, b.Namespace)
	if err != nil {
		return t, err
	}
	for _, pod := range pods {
		seen, name := arrivals.Of(pod.Name), pod.Labels["app"]
		if seen.ReadyAt.IsZero() {
			return t, fmt.Errorf("the watch has not reported yet that pod %s is ready", pod.Name)
		}
		t.startUps[name] = append(t.startUps[name], seen.ReadyAt.Sub(seen.CreatedAt))
	}
	return t, nil
}

// far reports whether the image of a workload comes from the slow registry.
func far(workload string) bool { return strings.HasPrefix(workload, "far-") }

// sumOfPulls returns the sum and the number of the pulls of all workloads that the function selects.
func (t reportTruth) sumOfPulls(selects func(workload string) bool) (sum time.Duration, count int) {
	for name, length := range t.pulls {
		if selects(name) {
			sum, count = sum+length, count+1
		}
	}
	return sum, count
}

// registryFactor returns the factor of the slow registry. Each pull needs 0.5 s in addition to the time for its bytes,
// as in the definition of the registry factor in docs/monitoring.md.
func (t reportTruth) registryFactor() float64 {
	const overhead, mebibyte = 0.5, 1 << 20
	slow, slowCount := t.sumOfPulls(far)
	others, count := t.sumOfPulls(func(name string) bool { return !far(name) })
	bytes := float64((count-1)*reportSize+reportLarge) / mebibyte
	perMebibyte := max(others.Seconds()-overhead*float64(count), others.Seconds()/10) / bytes
	expected := perMebibyte*float64(slowCount*reportSize)/mebibyte + overhead*float64(slowCount)
	return slow.Seconds() / expected
}

// imageFactor returns the time of a workload's pull, divided by the mean time of the other pulls.
func (t reportTruth) imageFactor(workload string) float64 {
	others, count := t.sumOfPulls(func(name string) bool { return name != workload })
	return t.pulls[workload].Seconds() * float64(count) / others.Seconds()
}

// workloadFactor returns the factor of a workload with one pod that loses time only in the registry. The expected time
// is the mean of the pulls of the other start-ups, plus the time of the pod without its pull. For a start-up without a
// pull, the duration of the pull is 0 s.
func (t reportTruth) workloadFactor(workload string) float64 {
	startUps := 0
	for _, lengths := range t.startUps {
		startUps += len(lengths)
	}
	others, _ := t.sumOfPulls(func(name string) bool { return name != workload })
	total := meanOf(t.startUps[workload])
	expected := others/time.Duration(startUps-1) + total - t.pulls[workload]
	return total.Seconds() / expected.Seconds()
}

// work returns the mean time per start-up that the node needed for its own work. In the scenario, a container needs the
// time workloadReadyAfter from its start until it is ready. The start-up with the missing ConfigMap does not count.
func (t reportTruth) work() time.Duration {
	var all []time.Duration
	for name, lengths := range t.startUps {
		for _, length := range lengths {
			if name != "broken" {
				all = append(all, length-t.pulls[name]-workloadReadyAfter)
			}
		}
	}
	return meanOf(all)
}

// judgeFactors compares the times of the pulls and the factors with the truth.
func (v *Verdict) judgeFactors(r fleetReport, t reportTruth) {
	registry, there := r.Registries.row(node.OtherRegistry)
	v.compareFactor("registry "+node.OtherRegistry, t.registryFactor(), registry, there)
	for name, reference := range t.images {
		row, there := r.Images.row(reference)
		slow := far(name) || name == "large"
		if there {
			v.compareNumber("pull of "+name, t.pulls[name].Round(time.Second), t.pulls[name], row.Seconds, limit)
		}
		if slow {
			v.compareFactor("image of "+name, t.imageFactor(name), row, there)
		}
		if far(name) {
			row, there := r.Workloads.row("deployment " + t.namespace + "/" + name)
			v.compareFactor("workload "+name, t.workloadFactor(name), row, there)
		}
	}
}

// compareFactor compares the factor of a row with the truth.
func (v *Verdict) compareFactor(what string, truth float64, row reportRow, there bool) {
	v.Compared++
	switch {
	case !there:
		v.Problem("%s: the report has no row, want the factor %.2f", what, truth)
	case math.Abs(row.Factor-truth) > reportTolerance*truth:
		v.Problem("%s: the factor is %.2f, want %.2f with a tolerance of %.0f %%", what, row.Factor, truth,
			100*reportTolerance)
	default:
		v.Note("%s: the factor is %.2f, the truth is %.2f", what, row.Factor, truth)
	}
}
