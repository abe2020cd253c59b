package scenario

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/lab/internal/metrics"
)

// withoutReceiver stops the receiver while a pod starts. The agent must still report the pod on standard output, and
// count the start-up as dropped. After the receiver has restarted, the agent must send the next pod's start-up.
func (t *tracedRun) withoutReceiver(ctx context.Context) error {
	spec := corev1.PodSpec{Containers: []corev1.Container{{Name: mainName, Image: t.bench.BaseImage}}}
	if err := awaitAgentAge(ctx, t.bench); err != nil {
		return err
	}
	before, err := t.counted(ctx)
	if err != nil {
		return err
	}
	if err := t.bench.Node.StopReceiver(); err != nil {
		return err
	}
	const dropped, received = "dropped", "received"
	if err := t.bench.CreatePod(ctx, dropped, spec); err != nil {
		return err
	}
	if _, err := t.bench.AwaitSettled(ctx, dropped); err != nil {
		return err
	}
	during, err := t.awaitCounted(ctx, func(c deliveredCounters) bool { return c.dropped > before.dropped })
	if err != nil {
		return err
	}
	health, err := t.bench.Agent.Health(ctx)
	if err != nil {
		return err
	}
	if !strings.Contains(health, "[-]otlp down") || !strings.Contains(health, "readyz check passed") {
		t.verdict.Problem("without a receiver, /readyz?verbose must succeed and report otlp as down, but returns %q",
			health)
	}
	if err := t.bench.Node.StartReceiver(ctx); err != nil {
		return err
	}
	if err := t.bench.CreatePod(ctx, received, spec); err != nil {
		return err
	}
	if _, _, err := t.awaitReport(ctx, received); err != nil {
		return err
	}
	after, err := t.awaitCounted(ctx, func(c deliveredCounters) bool { return c.sent > during.sent })
	if err != nil {
		return err
	}
	t.verdict.Compared += 2
	if want := (deliveredCounters{before.sent, before.dropped + 1, before.printed + 1}); during != want {
		t.verdict.Problem("after a pod started without a receiver, the counters are %+v, want %+v", during, want)
	}
	if want := (deliveredCounters{before.sent + 1, before.dropped + 1, before.printed + 2}); after != want {
		t.verdict.Problem("after one more pod started with a receiver, the counters are %+v, want %+v", after, want)
	}
	if lost, err := tracesOf(t.bench, dropped); err != nil {
		t.verdict.Problem("read the traces of pod %s, which counts as dropped: %v", dropped, err)
	} else if len(lost) > 0 {
		t.verdict.Problem("pod %s counts as dropped but was received %d times, want 0", dropped, len(lost))
	}
	return nil
}

// deliveredCounters contains three of the agent's counters. The counters count three kinds of start-ups: sent over
// OTLP, dropped, and printed as records.
type deliveredCounters struct{ sent, dropped, printed float64 }

func (t *tracedRun) counted(ctx context.Context) (deliveredCounters, error) {
	text, err := t.bench.Agent.Metrics(ctx)
	if err != nil {
		return deliveredCounters{}, err
	}
	sent, err := metrics.Sum(text, "podlapse_sink_sent_total", `sink="otlp"`)
	dropped, droppedErr := metrics.Sum(text, "podlapse_sink_dropped_total", `sink="otlp"`)
	printed, printedErr := metrics.Sum(text, "podlapse_sink_sent_total", `sink="records"`)
	return deliveredCounters{sent, dropped, printed}, errors.Join(err, droppedErr, printedErr)
}

func (t *tracedRun) awaitCounted(ctx context.Context, enough func(deliveredCounters) bool) (counted deliveredCounters,
	err error) {
	err = t.bench.Node.Report.Wait(ctx, "the agent's counters", deliveryLimit+5*time.Second, 100*time.Millisecond,
		func(ctx context.Context) error {
			var err error
			if counted, err = t.counted(ctx); err == nil && !enough(counted) {
				err = fmt.Errorf("the counters have not changed as expected yet: %+v", counted)
			}
			return err
		})
	return counted, err
}
