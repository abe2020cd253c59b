package scenario

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/otlp"
	"github.com/podlapse/podlapse/lab/internal/workload"
)

// lifeTrace starts a pod whose container crashes repeatedly. The agent sends a trace of the start-up to an
// OpenTelemetry receiver. This trace must contain the container's runs and the kubelet's Events. Then the scenario
// kills the agent and starts a new agent. The new agent must not send a span that the killed agent has already sent.
// At the end, the scenario deletes the pod.
func lifeTrace(ctx context.Context, b *bench.Bench, v *Verdict) error {
	change, err := startSending(ctx, b, "--life-traces", "--events=cluster", "--termination")
	if err != nil {
		return err
	}
	const pod = "crashing"
	crashes := corev1.Container{Name: mainName, Image: b.BaseImage,
		Env: []corev1.EnvVar{{Name: workload.CrashAfter, Value: "2s"}}}
	if err := b.CreatePod(ctx, pod, corev1.PodSpec{Containers: []corev1.Container{crashes}}); err != nil {
		return err
	}
	timeline, err := b.AwaitSettled(ctx, pod)
	if err != nil {
		return err
	}
	// After the second crash, the kubelet starts a back-off and creates an Event about it.
	before, err := awaitSpans(ctx, b, map[string]int{"run": 2, "event": 1})
	if err != nil {
		return err
	}
	if err := sleep(ctx, 500*time.Millisecond); err != nil { // the agent writes its state five times a second
		return err
	}
	if err := b.Node.KillAgent(); err != nil {
		return err
	}
	if err := b.Node.RestartAgentWith(ctx, change); err != nil {
		return err
	}
	if err := sleep(ctx, 3*time.Second); err != nil { // the API server sends all Events to the new agent again
		return err
	}
	if err := b.DeletePod(ctx, pod); err != nil {
		return err
	}
	spans, err := awaitSpans(ctx, b, map[string]int{"termination": 1})
	if err != nil {
		return err
	}
	v.oneTree(spans, ownTrace(timeline.UID))
	for _, s := range spans {
		code, signal := s.Attributes["podlapse.exit_code"], s.Attributes["podlapse.signal"]
		if s.Attributes["podlapse.kind"] == "run" &&
			(code != "139" || signal != "11" || !s.Failed || s.EndAt.Sub(s.StartAt) > 4*time.Second) {
			v.Problem("the run from %s to %s has exit code %s, signal %s, failed %t; want 139, 11, true and at "+
				"most 4 s", s.StartAt, s.EndAt, code, signal,
				s.Failed)
		}
	}
	v.Note("numbers of runs and Events: %d and %d before the agent was killed, %d and %d afterwards",
		countOf(before, "run"),
		countOf(before, "event"), countOf(spans, "run"), countOf(spans, "event"))
	return nil
}

// awaitSpans waits until the receiver has enough spans about the pods in the bench's namespace. awaitSpans returns all
// these spans. The argument "least" maps each kind of span to the minimum number of spans.
func awaitSpans(ctx context.Context, b *bench.Bench, least map[string]int) (spans []otlp.Span, err error) {
	err = b.Node.Report.Wait(ctx, "spans", 30*time.Second, 100*time.Millisecond, func(context.Context) (err error) {
		if spans, err = spansSent(b); err != nil {
			return err
		}
		for kind, n := range least {
			if count := countOf(spans, kind); count < n {
				return fmt.Errorf("got %d spans of kind %q, want at least %d", count, kind, n)
			}
		}
		return nil
	})
	return spans, err
}
