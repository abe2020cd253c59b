package scenario

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/bench"
)

// whatIfVariable is the environment variable with the number of pods for each change.
const whatIfVariable = "PODLAPSE_WHAT_IF_PODS"

// whatIfPods is the default number of pods for each change.
const whatIfPods = 20

// The scenario "what-if" starts slow pods. For each pod, the scenario reads the prediction of "explain" for one change.
// Then the scenario makes this change, and starts the pod again. The prediction contains an interval for the duration
// of the second start-up, and an interval for the time that the change saves. The true values must lie in these
// intervals. Before the comparison, the scenario corrects the duration of the second start-up for the load of the
// machine. The predicted intervals must not be too long.
func whatIf(ctx context.Context, b *bench.Bench, v *Verdict) error {
	count, err := whatIfCount(os.Getenv(whatIfVariable))
	if err != nil {
		return err
	}
	if err := b.Throttle(ctx, whatIfRate); err != nil {
		return err
	}
	arrivals, stop := b.Watch(ctx)
	for _, c := range whatIfCases() {
		// The scenario starts c.together pairs at the same time, so fewer pairs would not save time.
		pairs := make([]whatIfPair, max(count, c.together))
		run := whatIfRun{b, arrivals, c}
		if err := run.startAll(ctx, pairs); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		v.judgeWhatIf(c, pairs)
	}
	return stop()
}

func whatIfCount(text string) (int, error) {
	if text == "" {
		return whatIfPods, nil
	}
	count, err := strconv.ParseUint(text, 10, 8)
	if err != nil || count == 0 {
		return 0, fmt.Errorf("%s=%q: must be a number from 1 to 255", whatIfVariable, text)
	}
	return int(count), nil
}

// whatIfPair is a pod without the change, and the same pod with the change.
type whatIfPair struct {
	before, after whatIfTruth
	predicted     bool // false if "explain" omits the prediction
	prediction    whatIfPrediction
}

// whatIfTruth is the interval that contains the true duration of a start-up. The start-up began at an unknown time
// during the request to create the pod. The start-up ended before the scenario's watch delivered the ready pod, but at
// most watchDelay earlier.
type whatIfTruth struct {
	low, high time.Duration
	// steps is the total time of the steps that the scenario's changes do not affect. The first step lasts from the
	// creation of the pod until its sandbox was running. The second step lasts from the request to start the main
	// container until this container was running. If the pod has no readiness probe, the field "steps" also includes
	// the time from the start of the main container until the pod was ready. The times are from containerd's log and
	// from the scenario's watch.
	steps time.Duration
}

// watchDelay is the longest assumed time from a change of a pod until the scenario's watch delivers this change.
const watchDelay = 100 * time.Millisecond

// whatIfPrediction is one prediction of "explain". totalLow and totalHigh are the bounds of the duration of the
// start-up. gainLow and gainHigh are the bounds of the time that the change saves. gain is the estimate of the saved
// time. If the saved time depends on chance, gain is 0.
type whatIfPrediction struct{ totalLow, totalHigh, gain, gainLow, gainHigh time.Duration }

// whatIfRun starts the pods of one case.
type whatIfRun struct {
	b        *bench.Bench
	arrivals *bench.Arrivals
	c        whatIfCase
}

// startAll starts all pods of a case. If the change is a setting of the kubelet, all pods without the change start
// first.
func (r whatIfRun) startAll(ctx context.Context, pairs []whatIfPair) error {
	if r.c.setting == nil {
		return r.forEachPair(ctx, pairs, func(ctx context.Context, i int) error {
			return errors.Join(r.startUnchanged(ctx, i, &pairs[i]), r.startChanged(ctx, i, &pairs[i]))
		})
	}
	err := r.forEachPair(ctx, pairs, func(ctx context.Context, i int) error {
		return r.startUnchanged(ctx, i, &pairs[i])
	})
	if err != nil {
		return err
	}
	if err := r.c.setting(ctx, r.b); err != nil {
		return err
	}
	err = r.forEachPair(ctx, pairs, func(ctx context.Context, i int) error { return r.startChanged(ctx, i, &pairs[i]) })
	return errors.Join(err, r.b.Node.RestorePulls(ctx))
}

// forEachPair calls a function for each pair. The case's field "together" limits how many calls run at the same time.
func (r whatIfRun) forEachPair(
	ctx context.Context, pairs []whatIfPair, start func(ctx context.Context, i int) error,
) error {
	together, ctx := errgroup.WithContext(ctx)
	together.SetLimit(max(r.c.together, 1))
	for i := range pairs {
		together.Go(func() error { return start(ctx, i) })
	}
	return together.Wait()
}

// startUnchanged starts a pod without the change, and reads the prediction.
func (r whatIfRun) startUnchanged(ctx context.Context, i int, pair *whatIfPair) error {
	pod := fmt.Sprintf("%s-before-%d", r.c.name, i)
	var err error
	if pair.before, err = r.startPod(ctx, pod, i, false); err != nil {
		return err
	}
	if _, err := r.b.AwaitSettled(ctx, pod); err != nil {
		return err
	}
	text, err := explainOnNode(ctx, r.b, pod, "-o", "json")
	if err != nil {
		return err
	}
	if pair.prediction, pair.predicted, err = r.c.read(text); err != nil {
		return fmt.Errorf("read the predictions of pod %s: %w", pod, err)
	}
	return r.b.DeletePod(ctx, pod)
}

// startChanged starts the same pod with the change.
func (r whatIfRun) startChanged(ctx context.Context, i int, pair *whatIfPair) error {
	pod := fmt.Sprintf("%s-after-%d", r.c.name, i)
	var err error
	if pair.after, err = r.startPod(ctx, pod, i, true); err != nil {
		return err
	}
	return r.b.DeletePod(ctx, pod)
}

// startPod starts a pod, and returns the true duration of its start-up.
func (r whatIfRun) startPod(ctx context.Context, pod string, i int, changed bool) (whatIfTruth, error) {
	spec, err := r.c.spec(ctx, r.b, i, changed)
	if err != nil {
		return whatIfTruth{}, err
	}
	created, err := bench.Dated(func() error { return r.b.CreatePod(ctx, pod, spec) })
	if err != nil {
		return whatIfTruth{}, err
	}
	if r.c.duringUnchanged != nil && !changed {
		if err := r.c.duringUnchanged(ctx, r.b, i); err != nil {
			return whatIfTruth{}, err
		}
	}
	err = r.b.Node.Report.Wait(ctx, "pod "+pod+" to be ready", 2*startLimit, 20*time.Millisecond,
		func(context.Context) error {
			if r.arrivals.Of(pod).ReadyAt.IsZero() {
				return errors.New("the pod's status does not show yet that the pod is ready")
			}
			return nil
		})
	if err != nil {
		return whatIfTruth{}, err
	}
	seen := r.arrivals.Of(pod)
	log, err := r.b.RuntimeLog(pod, seen.UID)
	if err != nil {
		return whatIfTruth{}, err
	}
	steps := log.SandboxReadyAt.Sub(created.StartAt) + log.RunningAt[mainName].Sub(log.StartRequestedAt[mainName])
	if spec.Containers[0].ReadinessProbe == nil {
		steps += seen.ReadyAt.Sub(log.RunningAt[mainName])
	}
	if r.c.whenReady != nil {
		err = r.c.whenReady(ctx, r.b, i, changed)
	}
	return whatIfTruth{seen.ReadyAt.Sub(created.EndAt) - watchDelay, seen.ReadyAt.Sub(created.StartAt), steps}, err
}

// read finds the case's prediction in the JSON of "explain".
func (c whatIfCase) read(text string) (p whatIfPrediction, there bool, err error) {
	var record struct {
		WhatIf []struct {
			Change     string      `json:"change"`
			Container  string      `json:"container"`
			TotalLeast json.Number `json:"total_least_seconds"`
			TotalMost  json.Number `json:"total_most_seconds"`
			Gain       json.Number `json:"gain_seconds"`
			GainLeast  json.Number `json:"gain_least_seconds"`
			GainMost   json.Number `json:"gain_most_seconds"`
		} `json:"what_if"`
	}
	if err := json.Unmarshal([]byte(text), &record); err != nil {
		return p, false, err
	}
	for _, w := range record.WhatIf {
		if w.Change != c.change || w.Container != c.container {
			continue
		}
		for target, value := range map[*time.Duration]json.Number{&p.totalLow: w.TotalLeast, &p.totalHigh: w.TotalMost,
			&p.gainLow: w.GainLeast, &p.gainHigh: w.GainMost} {
			length, bad := agent.Nanoseconds(value)
			*target, err = length, errors.Join(err, bad)
		}
		if w.Gain != "" {
			length, bad := agent.Nanoseconds(w.Gain)
			p.gain, err = length, errors.Join(err, bad)
		}
		return p, err == nil, err
	}
	return p, false, nil
}

// judgeWhatIf compares the predictions of one case with the truth. At least half of the pods must have a prediction,
// and the predicted intervals must not be too long. If one of these conditions is not met, the case proves nothing.
func (v *Verdict) judgeWhatIf(c whatIfCase, pairs []whatIfPair) {
	predicted := slices.DeleteFunc(slices.Clone(pairs), func(p whatIfPair) bool { return !p.predicted })
	if v.Compared++; 2*len(predicted) < len(pairs) {
		v.Problem("%s: %d of %d pods have a prediction, want at least half", c.name, len(predicted), len(pairs))
	}
	var before, after, low, high, gain time.Duration
	for _, p := range predicted {
		p.after = p.underSameLoad()
		v.Compared += 2
		if p.after.high < p.prediction.totalLow || p.after.low > p.prediction.totalHigh {
			v.Problem("%s: the start-up took %s s before the change and %s to %s s after it under the same "+
				"load; the prediction was %s to %s s", c.name, seconds(p.before.high), seconds(p.after.low),
				seconds(p.after.high), seconds(p.prediction.totalLow), seconds(p.prediction.totalHigh))
		}
		if least, most := p.gain(); most < p.prediction.gainLow || least > p.prediction.gainHigh {
			v.Problem("%s: the change saved %s to %s s of %s s; the predicted gain was %s to %s s", c.name,
				seconds(least), seconds(most), seconds(p.before.high), seconds(p.prediction.gainLow),
				seconds(p.prediction.gainHigh))
		}
		n := time.Duration(len(predicted))
		before, after = before+p.before.high/n, after+p.after.high/n
		low, high, gain = low+p.prediction.totalLow/n, high+p.prediction.totalHigh/n, gain+p.prediction.gain/n
	}
	v.Compared++
	if off := gain - (before - after); c.byChance && gain != 0 || !c.byChance && 4*off.Abs() > before-after {
		v.Problem("%s: the change saved %s s on average, but the estimate is %s s", c.name, seconds(before-after),
			seconds(gain))
	}
	if v.Compared++; high-low > c.wide(before) {
		v.Problem("%s: the predicted durations are %s to %s s on average; want an interval of at most %s s", c.name,
			seconds(low), seconds(high), seconds(c.wide(before)))
	}
	v.Note("%s: %d of %d pods have a prediction; mean start-up %s s before and %s s after the change under the same "+
		"load, predicted %s to %s s, with a limit of %s s for the length of this interval; estimated gain %s s", c.name,
		len(predicted), len(pairs), seconds(before), seconds(after), seconds(low), seconds(high),
		seconds(c.wide(before)), seconds(gain))
}

// underSameLoad corrects the duration of the start-up after the change. For the steps that the change does not affect,
// the result uses their time before the change. A prediction assumes that these steps take the same time before and
// after the change. On a busy machine, the two times can differ greatly.
func (p whatIfPair) underSameLoad() whatIfTruth {
	off := p.before.steps - p.after.steps
	return whatIfTruth{p.after.low + off, p.after.high + off, p.before.steps}
}

// gain returns the interval that contains the time that the change saved. The interval also allows for chance: even
// without a change, a second start-up can take up to 10 % more or less time than the first start-up.
func (p whatIfPair) gain() (least, most time.Duration) {
	return p.before.low - p.after.high*10/9, p.before.high - p.after.low*10/11
}
