package scenario

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/layout"
	"github.com/podlapse/podlapse/lab/internal/node"
	"github.com/podlapse/podlapse/lab/internal/prometheus"
)

// scraped is one pod that Prometheus is to know of.
type scraped struct {
	plan     plan
	truth    time.Duration // from the request to create it until the API server's watch called it ready
	timeline agent.Timeline
	total    time.Duration // as the agent's record has it
}

// The agent's metrics of lengths.
const (
	startupHistogram = "podlapse_pod_startup_duration_seconds"
	pullHistogram    = "podlapse_image_pull_duration_seconds"
	podSeries        = "podlapse_pod_startup_seconds"
)

// scrape has a real Prometheus scrape the agent while three pods start, each of which falls into another bucket, and asks it
// what a person would.
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

// startScraped starts the pods, each when the pull of the one before is over, and waits until all are told.
func startScraped(ctx context.Context, b *bench.Bench, pods []scraped) error {
	var plans []plan
	for _, p := range pods {
		plans = append(plans, p.plan)
	}
	images, err := coldImages(ctx, b, plans)
	if err != nil {
		return err
	}
	if err := injectInto(ctx, b, plans); err != nil {
		return err
	}
	if err := settleAgent(ctx, b); err != nil {
		return err
	}
	arrivals, stop := b.Watch(ctx)
	work, together := errgroup.WithContext(ctx)
	for i := range pods {
		const apart = 4 * time.Second
		work.Go(func() error {
			if err := sleep(together, time.Duration(i)*apart); err != nil {
				return err
			}
			p := &pods[i]
			c, err := p.plan.carryOut(together, b, arrivals, images[i])
			if err != nil {
				return err
			}
			p.truth = arrivals.Of(p.plan.name).ReadyAt.Sub(c.created.StartAt)
			if p.timeline, err = b.AwaitSettled(together, p.plan.name); err != nil {
				return err
			}
			p.total, err = agent.Nanoseconds(p.timeline.TotalSeconds)
			return err
		})
	}
	return errors.Join(work.Wait(), stop())
}

// promRun asks the servers and judges their answers.
type promRun struct {
	bench           *bench.Bench
	verdict         *Verdict
	classic, native prometheus.Client
	pods            []scraped // the shortest start-up first
}

// scrapeLimit is how long it takes at most until Prometheus knows what the agent shows.
const scrapeLimit = 5 * node.ScrapeInterval

func (p *promRun) await(ctx context.Context, what string, limit time.Duration, check func(context.Context) error) error {
	return p.bench.Node.Report.Wait(ctx, what, limit, 200*time.Millisecond, check)
}

// value asks for the one sample that an expression has to yield.
func (p *promRun) value(ctx context.Context, client prometheus.Client, expression string) (float64, error) {
	samples, err := client.Query(ctx, expression)
	if err != nil {
		return 0, err
	}
	if len(samples) != 1 {
		return 0, fmt.Errorf("%s yields %d samples", expression, len(samples))
	}
	return samples[0].Value, nil
}

// expect compares the one sample of an expression with a number.
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
	for client, count := range map[prometheus.Client]string{p.classic: startupHistogram + "_count", p.native: "histogram_count(" + startupHistogram + ")"} {
		err := p.await(ctx, "Prometheus to know of all pods", scrapeLimit, func(ctx context.Context) error {
			known, err := p.value(ctx, client, count)
			if err == nil && known < float64(len(p.pods)) {
				err = fmt.Errorf("%s is %v", count, known)
			}
			return err
		})
		if err != nil {
			return err
		}
		if err := errors.Join(p.expect(ctx, client, `up{job="podlapse"}`, 1, 0), p.expect(ctx, client, count, float64(len(p.pods)), 0)); err != nil {
			return err
		}
	}
	return nil
}

// middleOf is the quantile that lies in the midst of what one of the pods counts for.
func (p *promRun) middleOf(i int) float64 { return (float64(i) + 0.5) / float64(len(p.pods)) }

func (p *promRun) sum() (seconds float64) {
	for _, pod := range p.pods {
		seconds += pod.total.Seconds()
	}
	return seconds
}

// rounding is what sums of a few seconds lose as floating-point numbers.
const rounding = 1e-6

// judgeClassic wants each quantile in the bucket that the truth is in.
func (p *promRun) judgeClassic(ctx context.Context) error {
	for i, pod := range p.pods {
		got, err := p.value(ctx, p.classic, fmt.Sprintf("histogram_quantile(%v, %s_bucket)", p.middleOf(i), startupHistogram))
		if err != nil {
			return err
		}
		low, high := bucketOf(startupEdges, pod.truth.Seconds())
		// The control plane dates the creation to a second: a truth that is so near to an edge may be told beyond it.
		if edge := time.Second.Seconds(); pod.truth.Seconds()-low < edge || high-pod.truth.Seconds() < edge {
			p.verdict.Problem("pod %s took %s, too near to an end of its bucket: the scenario proves nothing", pod.plan.name, seconds(pod.truth))
		}
		p.verdict.Compared++
		if got <= low || got > high {
			p.verdict.Problem("quantile %.3f of the start-ups is %.3f s, pod %s took %s, which is in the bucket from %v to %v",
				p.middleOf(i), got, pod.plan.name, seconds(pod.truth), low, high)
		}
		p.verdict.Note("pod %s took %s, the agent says %s, the quantile from buckets is %.3f", pod.plan.name, seconds(pod.truth), seconds(pod.total), got)
		p.verdict.Contract(pod.timeline)
		p.verdict.downloaded(pod.timeline, mainName)
	}
	return p.expect(ctx, p.classic, startupHistogram+"_sum", p.sum(), rounding)
}

// The edges of the agent's buckets, in seconds: those of a start-up's length, and the fewer ones of a pull's.
var (
	startupEdges = []float64{0, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600, math.Inf(1)}
	pullEdges    = []float64{0, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, math.Inf(1)}
)

// bucketOf is the bucket between two of the edges that holds a number of seconds.
func bucketOf(edges []float64, seconds float64) (low, high float64) {
	i, _ := slices.BinarySearch(edges, seconds)
	return edges[max(i, 1)-1], edges[max(i, 1)]
}

// nativeWidth is by how much the upper end of a native bucket is above the lower one at most.
const nativeWidth = 1.1

// judgeNative wants each quantile in the same narrow bucket as the length that the agent told.
func (p *promRun) judgeNative(ctx context.Context) error {
	for i, pod := range p.pods {
		got, err := p.value(ctx, p.native, fmt.Sprintf("histogram_quantile(%v, %s)", p.middleOf(i), startupHistogram))
		if err != nil {
			return err
		}
		p.verdict.Compared++
		if reported := pod.total.Seconds(); got < reported/nativeWidth || got > reported*nativeWidth {
			p.verdict.Problem("quantile %.3f of the native histogram is %.3f s, the agent told %.3f of pod %s", p.middleOf(i), got, reported, pod.plan.name)
		}
		p.verdict.Note("pod %s: the quantile from native buckets is %.3f", pod.plan.name, got)
	}
	return p.expect(ctx, p.native, "histogram_sum("+startupHistogram+")", p.sum(), rounding)
}

// judgeExemplars wants to get from a bucket to the trace of the pod that is in it.
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
			p.verdict.Problem("pod %s was not sent as the trace of its UID: %+v", pod.plan.name, root)
			continue
		}
		leads := slices.ContainsFunc(exemplars, func(e prometheus.Exemplar) bool {
			length, err := e.Value.Float64()
			return err == nil && e.Labels["trace_id"] == root[0].TraceID && math.Abs(length-pod.total.Seconds()) < rounding
		})
		if !leads {
			p.verdict.Problem("no exemplar of %s leads to the trace %s of pod %s: %+v", startupHistogram, root[0].TraceID, pod.plan.name, exemplars)
		}
	}
	return nil
}

// judgePulls wants the pulls of the three cold images, of which two were slow.
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
		p.verdict.Problem("the slow pulls took %.3f s by their histogram, by the registry %s, which is in the bucket from %v to %v",
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

// judgePodSeries wants a series for each pod, and none any more for one that is gone.
func (p *promRun) judgePodSeries(ctx context.Context) error {
	of := func(pod string) string {
		return fmt.Sprintf("%s{namespace=%q,pod=%q}", podSeries, p.bench.Namespace, pod)
	}
	for _, pod := range p.pods {
		samples, err := p.classic.Query(ctx, of(pod.plan.name))
		if err != nil {
			return err
		}
		p.verdict.Compared++
		if len(samples) != 1 || math.Abs(samples[0].Value-pod.total.Seconds()) > rounding || samples[0].Labels["state"] != agent.Ready {
			p.verdict.Problem("the series of pod %s, which took %s, are %+v", pod.plan.name, seconds(pod.total), samples)
		}
	}
	gone, left := p.pods[0].plan.name, p.pods[1].plan.name
	if err := p.bench.DeletePod(ctx, gone); err != nil {
		return err
	}
	if err := p.bench.AwaitGone(ctx, gone); err != nil {
		return err
	}
	for _, client := range []prometheus.Client{p.classic, p.native} {
		err := p.await(ctx, "the series of pod "+gone+" to end", scrapeLimit, func(ctx context.Context) error {
			samples, err := client.Query(ctx, of(gone))
			if err == nil && len(samples) > 0 {
				err = fmt.Errorf("it is %v", samples[0].Value)
			}
			return err
		})
		p.verdict.Compared++
		if err != nil {
			p.verdict.Problem("%v", err)
		}
		if samples, err := client.Query(ctx, of(left)); err != nil || len(samples) != 1 {
			p.verdict.Problem("pod %s, which is still there, has %d series: %v", left, len(samples), err)
		}
	}
	return nil
}
