package scenario

import (
	"context"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/otlp"
)

// rolloutAsOneTrace rolls out a Deployment with three pods. Then rolloutAsOneTrace deletes one pod, and the ReplicaSet
// replaces this pod. The spans in the OTLP receiver must form one tree.
func rolloutAsOneTrace(ctx context.Context, b *bench.Bench, v *Verdict) error {
	if _, err := startSending(ctx, b, "--rollout-traces", "--termination"); err != nil {
		return err
	}
	const deployment, replicas = "rolled", 3
	pods, err := b.CreateDeployment(ctx, deployment, replicas, corev1.PodSpec{
		Containers: []corev1.Container{bench.MainContainer(mainName, b.BaseImage, time.Second)}})
	if err != nil {
		return err
	}
	for _, pod := range pods {
		if _, err := b.AwaitSettled(ctx, pod); err != nil {
			return err
		}
	}
	if err := b.DeletePod(ctx, pods[0]); err != nil {
		return err
	}
	spans, err := awaitSpans(ctx, b, map[string]int{"startup": replicas + 1, "termination": 1})
	if err != nil {
		return err
	}
	revision := strings.Split(strings.TrimPrefix(pods[0], deployment+"-"), "-")[0]
	v.oneTree(spans, rolloutTrace(b.Namespace, deployment, revision))
	if starts, ends := countOf(spans, "startup"), countOf(spans, "termination"); starts != replicas+1 || ends != 1 {
		v.Problem("got %d start-ups and %d terminations, want %d and 1", starts, ends, replicas+1)
	}
	v.Note("the rollout of %d pods, and the termination of one: %d spans in one trace", replicas, len(spans))
	return nil
}

// spansSent returns all spans about the pods in the bench's namespace.
func spansSent(b *bench.Bench) (spans []otlp.Span, err error) {
	reports, err := otlp.ReadTraces(b.Node.OTLP())
	for _, r := range reports {
		if r.Namespace == b.Namespace {
			spans = append(spans, r.Spans...)
		}
	}
	return spans, err
}

func countOf(spans []otlp.Span, kind string) (count int) {
	for _, s := range spans {
		if s.Attributes["podlapse.kind"] == kind {
			count++
		}
	}
	return count
}

// oneTree requires that all spans are in one trace with one root, and that no span occurs twice. Each span except the
// root must have a parent in the trace. The map rightUnder lists the allowed kinds of parents for each kind of span.
func (v *Verdict) oneTree(spans []otlp.Span, trace string) {
	byID := make(map[string]otlp.Span)
	for _, s := range spans {
		if other, twice := byID[s.SpanID]; twice {
			v.Problem("spans %s and %s have the same ID %s, want unique IDs", other.Name, s.Name, s.SpanID)
		}
		byID[s.SpanID] = s
	}
	roots := 0
	for _, s := range spans {
		v.Compared++
		if s.TraceID != trace {
			v.Problem("span %s is in trace %s, want trace %s", s.Name, s.TraceID, trace)
		}
		if s.Parent == "" {
			roots++
		}
		parent, there := byID[s.Parent]
		kind := s.Attributes["podlapse.kind"]
		if !slices.Contains(rightUnder[kind], parent.Attributes["podlapse.kind"]) || !there && s.Parent != "" {
			v.Problem("%s %s has the parent span %q of kind %q, which is missing or not allowed", kind, s.Name,
				s.Parent,
				parent.Attributes["podlapse.kind"])
		}
	}
	if roots != 1 {
		v.Problem("the trace has %d root spans, want 1", roots)
	}
}
