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

// lifeTrace starts a pod whose container crashes repeatedly. The collector's receiver must get its runs and the
// kubelet's Events in the trace of its start-up. The agent is killed in between, and nothing may be sent twice. Then
// the pod is deleted.
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
	// After the second crash the kubelet backs off, and reports it.
	before, err := awaitSpans(ctx, b, map[string]int{"run": 2, "event": 1})
	if err != nil {
		return err
	}
	if err := sleep(ctx, 500*time.Millisecond); err != nil { // the agent writes the state five times a second
		return err
	}
	if err := b.Node.KillAgent(); err != nil {
		return err
	}
	if err := b.Node.RestartAgentWith(ctx, change); err != nil {
		return err
	}
	if err := sleep(ctx, 3*time.Second); err != nil { // the API server sends all Events again
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
			v.Problem("a run from %s to %s with exit code %s, signal %s, failed %t", s.StartAt, s.EndAt, code, signal,
				s.Failed)
		}
	}
	v.Note("runs and Events: %d and %d, and %d and %d after the agent was killed", countOf(before, "run"),
		countOf(before, "event"), countOf(spans, "run"), countOf(spans, "event"))
	return nil
}

// awaitSpans waits until this many spans of each kind were sent about the bench's namespace, and returns all.
func awaitSpans(ctx context.Context, b *bench.Bench, least map[string]int) (spans []otlp.Span, err error) {
	err = b.Node.Report.Wait(ctx, "spans", 30*time.Second, 100*time.Millisecond, func(context.Context) (err error) {
		if spans, err = spansSent(b); err != nil {
			return err
		}
		for kind, n := range least {
			if count := countOf(spans, kind); count < n {
				return fmt.Errorf("got %d of kind %s, want %d", count, kind, n)
			}
		}
		return nil
	})
	return spans, err
}
