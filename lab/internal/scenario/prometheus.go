package scenario

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/layout"
	"github.com/podlapse/podlapse/lab/internal/node"
	"github.com/podlapse/podlapse/lab/internal/prometheus"
)

// The names of the agent's duration metrics.
const (
	startupHistogram = "podlapse_pod_startup_duration_seconds"
	pullHistogram    = "podlapse_image_pull_duration_seconds"
	podSeries        = "podlapse_pod_startup_seconds"
)

// The scenario "prometheus" starts three pods while a real Prometheus scrapes the agent. The durations of the three
// start-ups lie in different buckets. Then the scenario sends typical queries to Prometheus.
func scrape(ctx context.Context, b *bench.Bench, v *Verdict) error {
	const initRun = 300 * time.Millisecond
	pods := []scrapedPod{ // the start-ups take about 7, 14 and 24 seconds
		{plan: plan{name: "short", initRun: initRun, readyAfter: 5500 * time.Millisecond}},
		{plan: plan{name: "middle", initRun: initRun, readyAfter: 10500 * time.Millisecond, throttled: true}},
		{plan: plan{name: "long", initRun: initRun, readyAfter: 20500 * time.Millisecond, throttled: true}},
	}
	if err := startReceiver(ctx, b); err != nil {
		return err
	}
	change := node.AgentChange{Flags: []string{"--metrics-pod-labels=on"}, Environment: sendingOverHTTP()}
	if err := b.Node.RestartAgentWith(ctx, change); err != nil {
		return err
	}
	if err := b.Node.StartPrometheus(ctx); err != nil {
		return err
	}
	if err := startScraped(ctx, b, pods); err != nil {
		return err
	}
	slices.SortFunc(pods, func(a, b scrapedPod) int { return int(a.truth - b.truth) })
	p := &promRun{bench: b, verdict: v, pods: pods,
		classic: prometheus.Client{Server: "http://" + layout.Address(layout.PrometheusPort)},
		native:  prometheus.Client{Server: "http://" + layout.Address(layout.NativePort)}}
	for _, judge := range []func(context.Context) error{
		p.awaitScrapes, p.judgeClassic, p.judgeNative, p.judgeExemplars, p.judgePulls, p.judgeLint, p.judgePodSeries,
	} {
		if err := judge(ctx); err != nil {
			return err
		}
	}
	return nil
}

// promRun queries the Prometheus servers and checks their responses.
type promRun struct {
	bench           *bench.Bench
	verdict         *Verdict
	classic, native prometheus.Client
	pods            []scrapedPod // sorted by the duration of the start-up
}

// scrapeLimit is the longest accepted time until Prometheus has the agent's current metrics.
const scrapeLimit = 5 * node.ScrapeInterval

func (p *promRun) await(ctx context.Context, what string, limit time.Duration,
	check func(context.Context) error) error {
	return p.bench.Node.Report.Wait(ctx, what, limit, 200*time.Millisecond, check)
}

// value returns the result of an expression. The result must have exactly one sample.
func (p *promRun) value(ctx context.Context, client prometheus.Client, expression string) (float64, error) {
	samples, err := client.Query(ctx, expression)
	if err != nil {
		return 0, err
	}
	if len(samples) != 1 {
		return 0, fmt.Errorf("query %s: got %d samples, want 1", expression, len(samples))
	}
	return samples[0].Value, nil
}

// expectSample requires that an expression returns exactly one sample. The sample's value must not differ from the
// argument "want" by more than the argument "within".
func (p *promRun) expectSample(
	ctx context.Context, client prometheus.Client, expression string, want, within float64,
) error {
	got, err := p.value(ctx, client, expression)
	if err != nil {
		return err
	}
	p.verdict.Compared++
	if math.Abs(got-want) > within {
		p.verdict.Problem("expression %s is %v, want %v", expression, got, want)
	}
	return nil
}

func (p *promRun) awaitScrapes(ctx context.Context) error {
	for client, count := range map[prometheus.Client]string{p.classic: startupHistogram + "_count",
		p.native: "histogram_count(" + startupHistogram + ")"} {
		err := p.await(ctx, "Prometheus to scrape all pods' metrics", scrapeLimit, func(ctx context.Context) error {
			known, err := p.value(ctx, client, count)
			if err == nil && known < float64(len(p.pods)) {
				err = fmt.Errorf("the expression %s has the value %v, want at least the number of started pods",
					count, known)
			}
			return err
		})
		if err != nil {
			return err
		}
		if err := errors.Join(p.expectSample(ctx, client, `up{job="podlapse"}`, 1, 0),
			p.expectSample(ctx, client, count, float64(len(p.pods)), 0)); err != nil {
			return err
		}
	}
	return nil
}

// middleOf converts a pod's index to a quantile for histogram_quantile. For three pods, the quantiles are 1/6, 1/2 and
// 5/6.
func (p *promRun) middleOf(i int) float64 { return (float64(i) + 0.5) / float64(len(p.pods)) }

func (p *promRun) sum() (seconds float64) {
	for _, pod := range p.pods {
		seconds += pod.total.Seconds()
	}
	return seconds
}

// roundingError is the largest accepted error of floating-point rounding, in seconds.
const roundingError = 1e-6

// judgeClassic checks the quantiles from the classic histogram. Each quantile must lie in the bucket that contains the
// pod's true duration.
func (p *promRun) judgeClassic(ctx context.Context) error {
	for i, pod := range p.pods {
		got, err := p.value(ctx, p.classic, fmt.Sprintf("histogram_quantile(%v, %s_bucket)", p.middleOf(i),
			startupHistogram))
		if err != nil {
			return err
		}
		low, high := bucketOf(startupEdges, pod.truth.Seconds())
		// The control plane truncates the creation time to seconds. If the true duration is near the edge of a bucket,
		// the reported duration can lie in the next bucket.
		if edge := time.Second.Seconds(); pod.truth.Seconds()-low < edge || high-pod.truth.Seconds() < edge {
			p.verdict.Problem("pod %s took %s, which is within a second of an edge of its bucket: the scenario "+
				"is not conclusive",
				pod.plan.name, seconds(pod.truth))
		}
		p.verdict.Compared++
		if got <= low || got > high {
			p.verdict.Problem(
				"quantile %.3f of the start-ups is %.3f s, but pod %s took %s, want a quantile between %v and %v",
				p.middleOf(i), got, pod.plan.name, seconds(pod.truth), low, high)
		}
		p.verdict.Note("pod %s took %s; the agent reports %s; the quantile from the buckets is %.3f", pod.plan.name,
			seconds(pod.truth), seconds(pod.total), got)
		p.verdict.Contract(pod.timeline)
		p.verdict.requireDownload(pod.timeline, mainName)
	}
	return p.expectSample(ctx, p.classic, startupHistogram+"_sum", p.sum(), roundingError)
}

// The edges of the buckets in the agent's histograms, in seconds. The histogram of pulls has fewer buckets than the
// histogram of start-ups.
var (
	startupEdges = []float64{0, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600, math.Inf(1)}
	pullEdges    = []float64{0, 1, 5, 15, 60, 300, math.Inf(1)}
)

// bucketOf returns the edges of the bucket that contains the given number of seconds.
func bucketOf(edges []float64, seconds float64) (low, high float64) {
	i, _ := slices.BinarySearch(edges, seconds)
	return edges[max(i, 1)-1], edges[max(i, 1)]
}

// nativeWidth limits the width of a native bucket: its upper edge is at most nativeWidth times its lower edge.
const nativeWidth = 1.1

// judgeNative checks the quantiles from the native histogram. A quantile and the duration that the agent reported for
// the pod must differ by at most the factor nativeWidth.
func (p *promRun) judgeNative(ctx context.Context) error {
	for i, pod := range p.pods {
		got, err := p.value(ctx, p.native, fmt.Sprintf("histogram_quantile(%v, %s)", p.middleOf(i), startupHistogram))
		if err != nil {
			return err
		}
		p.verdict.Compared++
		if reported := pod.total.Seconds(); got < reported/nativeWidth || got > reported*nativeWidth {
			p.verdict.Problem("quantile %.3f of the native histogram is %.3f s, want about the %.3f s that the "+
				"agent reported for pod %s",
				p.middleOf(i), got, reported, pod.plan.name)
		}
		p.verdict.Note("pod %s: the quantile from native buckets is %.3f", pod.plan.name, got)
	}
	return p.expectSample(ctx, p.native, "histogram_sum("+startupHistogram+")", p.sum(), roundingError)
}

// judgeExemplars requires an exemplar for each pod. The exemplar must contain the pod's duration and the ID of the
// pod's trace.
func (p *promRun) judgeExemplars(ctx context.Context) error {
	const since = 10 * time.Minute
	exemplars, err := p.classic.Exemplars(ctx, startupHistogram+"_bucket", since)
	if err != nil {
		return err
	}
	native, err := p.native.Exemplars(ctx, startupHistogram, since)
	if err != nil {
		return err
	}
	p.verdict.Note("Prometheus returned %d exemplars with classic buckets and %d with native buckets", len(exemplars),
		len(native))
	for _, pod := range p.pods {
		trace, err := awaitTrace(ctx, p.bench, pod.plan.name, 1)
		if err != nil {
			return err
		}
		p.verdict.Compared++
		root := trace.Kind("startup")
		if len(root) != 1 || root[0].TraceID != ownTrace(pod.timeline.UID) {
			p.verdict.Problem("pod %s must be sent as one trace whose ID is derived from the pod's UID, but was "+
				"sent as: %+v", pod.plan.name, root)
			continue
		}
		leads := slices.ContainsFunc(exemplars, func(e prometheus.Exemplar) bool {
			length, err := e.Value.Float64()
			return err == nil && e.Labels["trace_id"] == root[0].TraceID &&
				math.Abs(length-pod.total.Seconds()) < roundingError
		})
		if !leads {
			p.verdict.Problem("an exemplar of %s must refer to trace %s of pod %s, but the exemplars are: %+v",
				startupHistogram,
				root[0].TraceID, pod.plan.name, exemplars)
		}
	}
	return nil
}

// judgePulls checks the metrics about the pulls of the three images. The scenario throttled two of the three pulls.
func (p *promRun) judgePulls(ctx context.Context) error {
	selector := fmt.Sprintf(`{outcome="downloaded",registry=%q}`, layout.Address(layout.RegistryPort))
	if err := p.expectSample(ctx, p.classic, pullHistogram+"_count"+selector, float64(len(p.pods)), 0); err != nil {
		return err
	}
	truth, err := p.bench.PullTruth(ctx, "middle")
	if err != nil {
		return err
	}
	got, err := p.value(ctx, p.classic, "histogram_quantile(0.9, "+pullHistogram+"_bucket"+selector+")")
	if err != nil {
		return err
	}
	low, high := bucketOf(pullEdges, truth.Length().Seconds())
	p.verdict.Compared++
	if got <= low || got > high {
		p.verdict.Problem("the 0.9 quantile of pulls is %.3f s, but the slow pull took %s according to the "+
			"registry, want the bucket from %v to %v", got, seconds(truth.Length()), low, high)
	}
	return nil
}

func (p *promRun) judgeLint(ctx context.Context) error {
	text, err := p.bench.Agent.Metrics(ctx)
	if err != nil {
		return err
	}
	complaint, err := p.bench.Node.LintMetrics(ctx, text)
	if err != nil {
		return err
	}
	p.verdict.Compared++
	if complaint != "" {
		p.verdict.Problem("promtool check metrics must report nothing, but reports: %s", complaint)
	}
	return nil
}
