package scenario

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/prometheus"
)

// scrapedPod is one pod whose metrics Prometheus must store.
type scrapedPod struct {
	plan     plan
	truth    time.Duration // from the request to create the pod until the watch showed the pod as ready
	timeline agent.Timeline
	total    time.Duration // total duration in the agent's record
}

// startScraped starts the pods with pauses, so that no two pulls run at the same time. Then startScraped waits until
// the agent has reported all pods.
func startScraped(ctx context.Context, b *bench.Bench, pods []scrapedPod) error {
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
	if err := awaitAgentAge(ctx, b); err != nil {
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

// judgePodSeries requires one series for each pod, and no series for a deleted pod.
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
		if len(samples) != 1 || math.Abs(samples[0].Value-pod.total.Seconds()) > roundingError ||
			samples[0].Labels["state"] != agent.Ready {
			p.verdict.Problem("want one series of the ready pod %s with the value %s, but got %+v", pod.plan.name,
				seconds(pod.total),
				samples)
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
				err = fmt.Errorf("the series of pod %s is still in Prometheus, with the value %v", gone,
					samples[0].Value)
			}
			return err
		})
		p.verdict.Compared++
		if err != nil {
			p.verdict.Problem("%v", err)
		}
		if samples, err := client.Query(ctx, of(left)); err != nil {
			p.verdict.Problem("read the series of the existing pod %s: %v", left, err)
		} else if len(samples) != 1 {
			p.verdict.Problem("the existing pod %s has %d series, want 1", left, len(samples))
		}
	}
	return nil
}
