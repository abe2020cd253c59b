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

// The agent's metrics of durations.
const (
	startupHistogram = "podlapse_pod_startup_duration_seconds"
	pullHistogram    = "podlapse_image_pull_duration_seconds"
	podSeries        = "podlapse_pod_startup_seconds"
)

// scrape lets a real Prometheus scrape the agent while three pods start, each in a different bucket, and sends typical
// queries.
func scrape(ctx context.Context, b *bench.Bench, v *Verdict) error {
	const initRun = 300 * time.Millisecond
	pods := []scraped{ // around 7, 14 and 24 seconds
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
	slices.SortFunc(pods, func(a, b scraped) int { return int(a.truth - b.truth) })
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

// promRun queries the servers and judges their responses.
type promRun struct {
	bench           *bench.Bench
	verdict         *Verdict
	classic, native prometheus.Client
	pods            []scraped // in the order of their durations
}

// scrapeLimit is the longest time until Prometheus has the agent's current metrics.
const scrapeLimit = 5 * node.ScrapeInterval

func (p *promRun) await(ctx context.Context, what string, limit time.Duration,
	check func(context.Context) error) error {
	return p.bench.Node.Report.Wait(ctx, what, limit, 200*time.Millisecond, check)
}

// value queries an expression that must have exactly one sample.
func (p *promRun) value(ctx context.Context, client prometheus.Client, expression string) (float64, error) {
	samples, err := client.Query(ctx, expression)
	if err != nil {
		return 0, err
	}
	if len(samples) != 1 {
		return 0, fmt.Errorf("%s: got %d samples, want one", expression, len(samples))
	}
	return samples[0].Value, nil
}

// expect compares the only sample of an expression with a number.
func (p *promRun) expect(ctx context.Context, client prometheus.Client, expression string, want, within float64) error {
	got, err := p.value(ctx, client, expression)
	if err != nil {
		return err
	}
	p.verdict.Compared++
	if math.Abs(got-want) > within {
		p.verdict.Problem("%s is %v, want %v", expression, got, want)
	}
	return nil
}

func (p *promRun) awaitScrapes(ctx context.Context) error {
	for client, count := range map[prometheus.Client]string{p.classic: startupHistogram + "_count",
		p.native: "histogram_count(" + startupHistogram + ")"} {
		err := p.await(ctx, "Prometheus to scrape all pods' metrics", scrapeLimit, func(ctx context.Context) error {
			known, err := p.value(ctx, client, count)
			if err == nil && known < float64(len(p.pods)) {
				err = fmt.Errorf("%s is %v", count, known)
			}
			return err
		})
		if err != nil {
			return err
		}
		if err := errors.Join(p.expect(ctx, client, `up{job="podlapse"}`, 1, 0),
			p.expect(ctx, client, count, float64(len(p.pods)), 0)); err != nil {
			return err
		}
	}
	return nil
}

// middleOf returns the quantile in the middle of one pod's share, by the pod's position.
func (p *promRun) middleOf(i int) float64 { return (float64(i) + 0.5) / float64(len(p.pods)) }

func (p *promRun) sum() (seconds float64) {
	for _, pod := range p.pods {
		seconds += pod.total.Seconds()
	}
	return seconds
}

// rounding is the rounding error of floating-point sums of a few seconds.
const rounding = 1e-6

// judgeClassic requires each quantile in the same bucket as the truth.
func (p *promRun) judgeClassic(ctx context.Context) error {
	for i, pod := range p.pods {
		got, err := p.value(ctx, p.classic, fmt.Sprintf("histogram_quantile(%v, %s_bucket)", p.middleOf(i),
			startupHistogram))
		if err != nil {
			return err
		}
		low, high := bucketOf(startupEdges, pod.truth.Seconds())
		// The control plane truncates the creation to seconds, so a truth near an edge may be reported beyond it.
		if edge := time.Second.Seconds(); pod.truth.Seconds()-low < edge || high-pod.truth.Seconds() < edge {
			p.verdict.Problem("pod %s took %s, too near to an edge of its bucket, so the scenario is not conclusive",
				pod.plan.name, seconds(pod.truth))
		}
		p.verdict.Compared++
		if got <= low || got > high {
			p.verdict.Problem(
				"quantile %.3f of the start-ups is %.3f s, but pod %s took %s, which is in the bucket from %v to %v",
				p.middleOf(i), got, pod.plan.name, seconds(pod.truth), low, high)
		}
		p.verdict.Note("pod %s took %s, the agent reports %s, the quantile from buckets is %.3f", pod.plan.name,
			seconds(pod.truth), seconds(pod.total), got)
		p.verdict.Contract(pod.timeline)
		p.verdict.downloaded(pod.timeline, mainName)
	}
	return p.expect(ctx, p.classic, startupHistogram+"_sum", p.sum(), rounding)
}

// The edges of the agent's buckets in seconds: those for start-ups, and the fewer ones for pulls.
var (
	startupEdges = []float64{0, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600, math.Inf(1)}
	pullEdges    = []float64{0, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, math.Inf(1)}
)

// bucketOf returns the edges of the bucket that contains a number of seconds.
func bucketOf(edges []float64, seconds float64) (low, high float64) {
	i, _ := slices.BinarySearch(edges, seconds)
	return edges[max(i, 1)-1], edges[max(i, 1)]
}

// nativeWidth is the largest ratio of the edges of a native bucket.
const nativeWidth = 1.1

// judgeNative requires each quantile in the same narrow bucket as the duration that the agent reported.
func (p *promRun) judgeNative(ctx context.Context) error {
	for i, pod := range p.pods {
		got, err := p.value(ctx, p.native, fmt.Sprintf("histogram_quantile(%v, %s)", p.middleOf(i), startupHistogram))
		if err != nil {
			return err
		}
		p.verdict.Compared++
		if reported := pod.total.Seconds(); got < reported/nativeWidth || got > reported*nativeWidth {
			p.verdict.Problem("quantile %.3f of the native histogram is %.3f s, but the agent reported %.3f for pod %s",
				p.middleOf(i), got, reported, pod.plan.name)
		}
		p.verdict.Note("pod %s: the quantile from native buckets is %.3f", pod.plan.name, got)
	}
	return p.expect(ctx, p.native, "histogram_sum("+startupHistogram+")", p.sum(), rounding)
}

// judgeExemplars requires that each bucket's exemplar leads to the trace of a pod in the bucket.
func (p *promRun) judgeExemplars(ctx context.Context) error {
	const since = 10 * time.Minute
	exemplars, err := p.classic.Exemplars(ctx, startupHistogram+"_bucket", since)
	if err != nil {
		return err
	}
	beside, err := p.native.Exemplars(ctx, startupHistogram, since)
	if err != nil {
		return err
	}
	p.verdict.Note("%d exemplars came with classic buckets, %d with native ones", len(exemplars), len(beside))
	for _, pod := range p.pods {
		trace, err := awaitTrace(ctx, p.bench, pod.plan.name, 1)
		if err != nil {
			return err
		}
		p.verdict.Compared++
		root := trace.Kind("startup")
		if len(root) != 1 || root[0].TraceID != ownTrace(pod.timeline.UID) {
			p.verdict.Problem("pod %s was not sent as the trace derived from its UID: %+v", pod.plan.name, root)
			continue
		}
		leads := slices.ContainsFunc(exemplars, func(e prometheus.Exemplar) bool {
			length, err := e.Value.Float64()
			return err == nil && e.Labels["trace_id"] == root[0].TraceID &&
				math.Abs(length-pod.total.Seconds()) < rounding
		})
		if !leads {
			p.verdict.Problem("no exemplar of %s leads to the trace %s of pod %s: %+v", startupHistogram,
				root[0].TraceID, pod.plan.name, exemplars)
		}
	}
	return nil
}

// judgePulls requires the pulls of the three cold images, of which two were slow.
func (p *promRun) judgePulls(ctx context.Context) error {
	selector := fmt.Sprintf(`{outcome="downloaded",registry=%q}`, layout.Address(layout.RegistryPort))
	if err := p.expect(ctx, p.classic, pullHistogram+"_count"+selector, float64(len(p.pods)), 0); err != nil {
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
		p.verdict.Problem("the slow pulls took %.3f s by their histogram, but %s by the registry, which is in the "+
			"bucket from %v to %v",
			got, seconds(truth.Length()), low, high)
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
		p.verdict.Problem("promtool check metrics complains: %s", complaint)
	}
	return nil
}
