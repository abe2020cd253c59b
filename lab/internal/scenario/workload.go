package scenario

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/bench"
)

// The scenario "workload" starts pods of one Deployment. Five pods pull an image, and each pull takes four seconds. Six
// pods find the image on the node. One more pod is still pulling when the command "explain" runs. "explain" must report
// the correct numbers of start-ups, and their true durations. For the causes "registry" and "app", "explain" must
// report the true mean times. If the pods with a pull are clearly slower than the pods without a pull, "explain" must
// report the pull as the cause of this difference.
func explainWorkload(ctx context.Context, b *bench.Bench, v *Verdict) error {
	const (
		cold, warm = 5, 6
		size       = 16 << 20
		pull       = size / workloadPullRate * time.Second
	)
	arrivals, stop := b.Watch(ctx)
	image := b.Reference("shop")
	g, err := createScaledWorkload(ctx, b, "shop", image, workloadReadyAfter)
	if err != nil {
		return err
	}
	pulls, err := g.addCold(ctx, 0, cold, "shop", size)
	if err != nil {
		return err
	}
	pulled, err := g.await(ctx, cold)
	if err != nil {
		return err
	}
	pods, err := g.scaleInSteps(ctx, cold, cold+warm)
	if err != nil {
		return err
	}
	present := slices.DeleteFunc(pods, func(pod string) bool { return slices.Contains(pulled, pod) })
	distinct, err := clearlySlower(arrivals.Of, pulled, present)
	if err != nil {
		return err
	}
	if err := g.addSlow(ctx, cold+warm, size); err != nil {
		return err
	}
	began := time.Now()
	text, err := explainOnNode(ctx, b, "deployment/shop", "-o", "json")
	if err != nil {
		return err
	}
	v.inTime("explain deployment/shop", time.Since(began))
	report, err := readWorkloadReport(text)
	if err != nil {
		return err
	}
	s := report.Summary
	v.Compared += 3
	if c := s.StartUps; len(report.Items) != cold+warm+1 || c.Measured != cold+warm || c.InProgress != 1 ||
		c.GivenUp+c.Failed+c.Deleted+c.Unknown > 0 {
		v.Problem("explain lists %d start-ups and counts %+v, want %d measured and 1 in progress", len(report.Items), c,
			cold+warm)
	}
	if i := s.Images; i.Pulled.StartUps != cold || i.Present.StartUps != warm || i.Unknown != 0 {
		v.Problem("explain reports %d start-ups with a pull and %d without, want %d and %d", i.Pulled.StartUps,
			i.Present.StartUps, cold, warm)
	}
	if distinct { // "explain" reports the causes of a difference only if the difference is significant
		d := s.Images.Difference
		if d.Verdict != "more_than_noise" {
			v.Problem("the verdict about the pull is %q with p = %g, want more_than_noise", d.Verdict, d.P)
		}
		measured, there := d.part("pull")
		v.Compare("pulled minus present: pull", pull, meanOf(pulls), measured, there, limit)
	}
	causes := map[string]json.Number{}
	for _, cause := range s.Causes {
		causes[cause.Cause] = cause.Mean
	}
	v.compareNumber("mean of registry", pull*cold/(cold+warm), meanOf(pulls)*cold/(cold+warm), causes[registryCause],
		limit)
	if distinct { // on a busy machine, the probe can succeed long after workloadReadyAfter has passed
		v.compareNumber("mean of app", workloadReadyAfter, workloadReadyAfter, causes["app"], limit)
	}
	if err := v.judgeDurations(report, func(pod string) bench.Arrival { return arrivals.Of(pod) }); err != nil {
		return err
	}
	if err := v.requireSummary(ctx, b, distinct); err != nil {
		return err
	}
	_, err = g.await(ctx, cold+warm+1) // a pull in progress would delay the pulls of the next scenario
	return errors.Join(err, stop())
}

// clearlySlower reports whether every pod with a pull took longer than every pod without a pull. The difference must
// exceed the error bounds of both durations. On a busy machine, a pod without a pull can take as long as a pod with a
// pull. In this case, "explain" correctly reports that the difference is noise.
func clearlySlower(arrival func(pod string) bench.Arrival, pulled, present []string) (bool, error) {
	const bounds = 2 * time.Second
	var missing error
	durations := func(pods []string) (all []time.Duration) {
		for _, pod := range pods {
			seen := arrival(pod)
			if seen.CreatedAt.IsZero() || seen.ReadyAt.IsZero() {
				missing = fmt.Errorf("the scenario's own watch missed the creation or the readiness of pod %s", pod)
			}
			all = append(all, seen.ReadyAt.Sub(seen.CreatedAt))
		}
		return all
	}
	return slices.Min(durations(pulled)) > slices.Max(durations(present))+bounds, missing
}

// requireSummary requires that the text of "explain" contains the numbers of start-ups. If the pods with a pull were
// clearly slower than the pods without a pull, the text must also describe this difference.
func (v *Verdict) requireSummary(ctx context.Context, b *bench.Bench, distinct bool) error {
	text, err := explainOnNode(ctx, b, "deployment/shop")
	if err != nil {
		return err
	}
	lines := strings.Join(strings.Fields(text), " ")
	wanted := []string{"deployment " + b.Namespace + "/shop: 11 start-ups, p50 ", "not included: 1 in progress"}
	if distinct {
		wanted = append(wanted, "if the node had all images, and ", " s pulling",
			"more than the noise of 6 and 5 start-ups.")
	} else {
		v.Note("the machine was busy: the pods with a pull were not clearly slower than the pods without a pull")
	}
	for _, want := range wanted {
		if v.Compared++; !strings.Contains(lines, want) {
			v.Problem("the text of explain does not contain %q:\n%s", want, text)
		}
	}
	v.Note("explain deployment/shop:\n%s", text)
	return nil
}

// addSlow adds one pod whose pull takes 15 seconds, and waits until the agent reports the pod.
func (g scaledWorkload) addSlow(ctx context.Context, from, size int) error {
	if err := g.b.Throttle(ctx, int64(size)/15); err != nil {
		return err
	}
	if _, err := g.b.Image(ctx, "shop", size); err != nil {
		return err
	}
	if err := g.scale(ctx, from+1); err != nil {
		return err
	}
	return g.b.Node.Report.Wait(ctx, "the agent to report the pod in progress", startLimit, 100*time.Millisecond,
		func(ctx context.Context) error {
			text, err := explainOnNode(ctx, g.b, "deployment/shop", "-o", "name")
			if err == nil && strings.Count(text, "pod/") != from+1 {
				err = errors.New("the agent does not list the new pod of deployment \"shop\" yet")
			}
			return err
		})
}

// judgeDurations compares the reported durations of start-ups, and their percentiles and mean, with the true values.
// The scenario's own watch delivers an event for the new pod, and an event for the ready pod. The true duration is the
// time between these two events. The percentiles use the nearest-rank method. A duration can differ by its reported
// error bound, but at most by a second, because the creation time of a pod is truncated to seconds.
func (v *Verdict) judgeDurations(report workloadReport, arrival func(pod string) bench.Arrival) error {
	var totals []time.Duration
	allowed := limit // for the percentiles and the mean
	for _, item := range report.Items {
		if item.State != agent.Ready {
			continue
		}
		total, err := agent.Nanoseconds(item.Total)
		bound, bad := agent.Nanoseconds(item.TotalError)
		if err := errors.Join(err, bad); err != nil {
			return err
		}
		seen := arrival(item.Name)
		if v.Compared++; seen.CreatedAt.IsZero() || seen.ReadyAt.IsZero() {
			v.Problem("explain lists the ready pod %q, but the scenario has seen no ready pod with this name",
				item.Name)
			continue
		}
		truth := seen.ReadyAt.Sub(seen.CreatedAt)
		totals = append(totals, truth)
		off, most := (total - truth).Abs(), max(limit, min(bound, time.Second))
		allowed = max(allowed, most)
		if off > most || off > bound+watchDelay {
			v.Problem("pod %s was ready after %s s, but explain reports %s s ±%s s", item.Name, seconds(truth),
				seconds(total), seconds(bound))
		}
	}
	n := len(totals)
	if n == 0 {
		return errors.New("the output of \"explain\" lists no ready pod")
	}
	slices.Sort(totals)
	d := report.Summary.Durations
	for _, p := range []struct {
		what     string
		truth    time.Duration
		reported json.Number
	}{
		{"p50", totals[(n+1)/2-1], d.P50}, {"p90", totals[(9*n+9)/10-1], d.P90}, {"slowest", totals[n-1], d.Slowest},
		{"mean", meanOf(totals), d.Mean},
	} {
		v.compareNumber(p.what, p.truth, p.truth, p.reported, allowed)
	}
	return nil
}
