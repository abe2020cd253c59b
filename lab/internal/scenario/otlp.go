package scenario

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"golang.org/x/sync/errgroup"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/metrics"
	"github.com/podlapse/podlapse/lab/internal/node"
	"github.com/podlapse/podlapse/lab/internal/otlp"
	"github.com/podlapse/podlapse/lab/internal/workload"
)

// The scenario "otlp" makes the agent send its data to the OpenTelemetry Collector's receiver, first over HTTP and
// then over gRPC.
func traces(ctx context.Context, b *bench.Bench, v *Verdict) error {
	if _, err := startSending(ctx, b); err != nil {
		return err
	}
	t := &tracedRun{bench: b, verdict: v}
	if err := t.fullTrace(ctx); err != nil {
		return err
	}
	if err := t.failedAndOwnedPods(ctx); err != nil {
		return err
	}
	if err := t.sendTwice(ctx); err != nil {
		return err
	}
	if err := t.withoutReceiver(ctx); err != nil {
		return err
	}
	return t.pushedMetrics(ctx)
}

// tracedRun collects and checks traces.
type tracedRun struct {
	bench   *bench.Bench
	verdict *Verdict
}

// awaitReport waits until the agent has reported a pod on standard output and over OTLP. Then awaitReport compares the
// record with the trace.
func (t *tracedRun) awaitReport(ctx context.Context, pod string) (agent.Timeline, otlp.Report, error) {
	timeline, err := t.bench.AwaitSettled(ctx, pod)
	if err != nil {
		return agent.Timeline{}, otlp.Report{}, err
	}
	if err := saveTimeline(t.bench, timeline); err != nil {
		return agent.Timeline{}, otlp.Report{}, err
	}
	report, err := awaitTrace(ctx, t.bench, pod, 1)
	if err != nil {
		return agent.Timeline{}, otlp.Report{}, err
	}
	t.verdict.checkTrace(report, timeline)
	return timeline, report, nil
}

// fullTrace starts a pod with an init container and a slow pull, and compares the pod's trace with the true times.
func (t *tracedRun) fullTrace(ctx context.Context) error {
	p := plan{name: "full", initRun: time.Second, readyAfter: 1500 * time.Millisecond, throttled: true,
		networkDelay: time.Second}
	images, err := coldImages(ctx, t.bench, []plan{p})
	if err != nil {
		return err
	}
	if err := injectInto(ctx, t.bench, []plan{p}); err != nil {
		return err
	}
	arrivals, stop := t.bench.Watch(ctx)
	c, err := p.carryOut(ctx, t.bench, arrivals, images[0])
	if err := errors.Join(err, stop()); err != nil {
		return err
	}
	timeline, report, err := t.awaitReport(ctx, p.name)
	if err != nil {
		return err
	}
	truth, err := p.collectTruth(ctx, t.bench, arrivals.Of(p.name), c)
	if err != nil {
		return err
	}
	t.verdict.Contract(timeline)
	truth.milestones = nil // timelineIn returns no milestones
	var counted tally
	counted.addTimeline(timelineIn(report), truth)
	counted.judgePromises(t.verdict)
	for _, kind := range []string{"startup", "phase", "container", "pull", "queue", "download", "unpack", "layer"} {
		if len(report.Kind(kind)) == 0 {
			t.verdict.Problem("the trace of pod %s has no span of kind %s, want at least one", p.name, kind)
		}
	}
	return t.bench.ResetFaults(ctx)
}

// IDs in the annotation "traceparent" of a pod. For example, a deployment tool can set this annotation.
const (
	parentTrace = "4bf92f3577b34da6a3ce929d0e0e4736"
	parentSpan  = "00f067aa0ba902b7"
)

// failedAndOwnedPods starts a pod that fails, a pod with the annotation "traceparent", and the pods of a Deployment.
func (t *tracedRun) failedAndOwnedPods(ctx context.Context) error {
	const failing, child, owned = "failing", "child", "owned"
	fails := bench.InitContainer(initName, t.bench.BaseImage, 500*time.Millisecond)
	fails.Env = append(fails.Env, corev1.EnvVar{Name: workload.ExitCode, Value: "3"})
	plain := corev1.PodSpec{Containers: []corev1.Container{
		bench.MainContainer(mainName, t.bench.BaseImage, time.Second)}}
	annotations := map[string]string{"traceparent": "00-" + parentTrace + "-" + parentSpan + "-01"}
	var replicas []string
	create, together := errgroup.WithContext(ctx)
	create.Go(func() error {
		return t.bench.CreatePod(together, failing, corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever,
			InitContainers: []corev1.Container{fails}, Containers: plain.Containers})
	})
	create.Go(func() error { return t.bench.CreateAnnotatedPod(together, child, annotations, plain) })
	create.Go(func() (err error) {
		replicas, err = t.bench.CreateDeployment(together, owned, 1, plain)
		return err
	})
	if err := create.Wait(); err != nil {
		return err
	}
	for _, pod := range replicas {
		if !strings.HasPrefix(pod, owned+"-") {
			continue // the pod does not belong to the Deployment
		}
		if err := t.judgeOwned(ctx, pod, owned); err != nil {
			return err
		}
	}
	if err := t.judgeFailing(ctx, failing); err != nil {
		return err
	}
	return t.judgeChild(ctx, child)
}

func (t *tracedRun) judgeFailing(ctx context.Context, pod string) error {
	timeline, report, err := t.awaitReport(ctx, pod)
	if err != nil {
		return err
	}
	root := rootOf(report)
	if timeline.State != agent.Failed || !root.Failed || root.Message == "" || root.Attributes["error.type"] == "" {
		t.verdict.Problem("pod %s failed, so its record and its trace must state the failure: got state %s; "+
			"error status %t, message %q, error.type %q",
			pod, timeline.State, root.Failed, root.Message, root.Attributes["error.type"])
	}
	return nil
}

func (t *tracedRun) judgeChild(ctx context.Context, pod string) error {
	_, report, err := t.awaitReport(ctx, pod)
	if err != nil {
		return err
	}
	if root := rootOf(report); root.TraceID != parentTrace || root.Parent != parentSpan {
		t.verdict.Problem("pod %s has span %s of trace %s, want a child of span %s in trace %s", pod, root.SpanID,
			root.TraceID, parentSpan, parentTrace)
	}
	return nil
}

func (t *tracedRun) judgeOwned(ctx context.Context, pod, deployment string) error {
	timeline, report, err := t.awaitReport(ctx, pod)
	if err != nil {
		return err
	}
	root := rootOf(report)
	revision := strings.Split(strings.TrimPrefix(pod, deployment+"-"), "-")[0]
	rollout := rolloutTrace(t.bench.Namespace, deployment, revision)
	if root.Attributes["k8s.deployment.name"] != deployment ||
		root.Attributes["podlapse.rollout.trace_id"] != rollout ||
		len(root.Links) != 1 || root.Links[0] != rollout {
		t.verdict.Problem(
			"the trace of pod %s must name and link Deployment %s, revision %s, but has attributes %v and links %v",
			pod, deployment, revision, root.Attributes, root.Links)
	}
	if root.TraceID != ownTrace(timeline.UID) || root.Parent != "" {
		t.verdict.Problem("pod %s has span %s under %q in trace %s, want no parent and a trace ID derived from "+
			"the pod's UID", pod, root.SpanID,
			root.Parent, root.TraceID)
	}
	return nil
}

// sendTwice makes the agent send the trace of one start-up twice, and compares the IDs in the two traces. Before the
// agent sends the trace, sendTwice kills the agent and saves a copy of the agent's state. The restarted agent sends
// the trace over gRPC. Then sendTwice kills the agent again and restores the saved state, so the next agent sends the
// trace again.
func (t *tracedRun) sendTwice(ctx context.Context) error {
	const ready = 4 * time.Second
	p := plan{name: "sent-twice", initRun: 500 * time.Millisecond, readyAfter: ready}
	images, err := coldImages(ctx, t.bench, []plan{p})
	if err != nil {
		return err
	}
	arrivals, stop := t.bench.Watch(ctx)
	carried := make(chan error, 1)
	go func() {
		_, err := p.carryOut(ctx, t.bench, arrivals, images[0])
		carried <- err
	}()
	killed := t.killWhileStarting(ctx, p.name)
	if err := errors.Join(<-carried, stop(), killed); err != nil {
		return err
	}
	timeline, first, err := t.awaitReport(ctx, p.name)
	if err != nil {
		return err
	}
	t.verdict.Contract(timeline)
	if id := rootOf(first).TraceID; id != ownTrace(timeline.UID) {
		t.verdict.Problem("pod %s was sent as trace %s, want a trace ID derived from the pod's UID", p.name, id)
	}
	if err := t.forgetAndRestart(ctx); err != nil {
		return err
	}
	second, err := awaitTrace(ctx, t.bench, p.name, 2)
	if err != nil {
		return err
	}
	t.verdict.sameSpans(first, second)
	return nil
}

// savedState returns the directory into which killWhileStarting copies the agent's state.
func (t *tracedRun) savedState() string { return t.bench.Node.AgentState() + "-earlier" }

// killWhileStarting waits until the agent has observed that the pod's main container runs. Then killWhileStarting
// kills the agent, saves a copy of the agent's state, and restarts the agent.
func (t *tracedRun) killWhileStarting(ctx context.Context, pod string) error {
	err := t.bench.Node.Report.Wait(ctx, "the agent to observe that pod "+pod+" is running", startLimit,
		100*time.Millisecond, func(ctx context.Context) error {
			timeline, err := t.bench.Agent.Timeline(ctx, t.bench.Namespace, pod)
			if err != nil {
				return err
			}
			if _, runs := timeline.Milestone("running", mainName); !runs {
				return fmt.Errorf("the agent has not observed yet that pod %s is running", pod)
			}
			return nil
		})
	if err != nil {
		return err
	}
	const saved = 500 * time.Millisecond // the agent writes its state five times per second
	if err := sleep(ctx, saved); err != nil {
		return err
	}
	if err := t.bench.Node.KillAgent(); err != nil {
		return err
	}
	if err := os.RemoveAll(t.savedState()); err != nil { // a killed scenario can leave this directory behind
		return fmt.Errorf("save the agent's state: %w", err)
	}
	if err := os.CopyFS(t.savedState(), os.DirFS(t.bench.Node.AgentState())); err != nil {
		return fmt.Errorf("save the agent's state: %w", err)
	}
	reports, err := tracesOf(t.bench, pod)
	if err != nil {
		return err
	}
	if len(reports) > 0 {
		return fmt.Errorf("the agent sent the start-up of pod %s %d times before the kill, want 0: "+
			"the scenario is not conclusive", pod, len(reports))
	}
	return t.bench.Node.RestartAgentWith(ctx, node.AgentChange{Environment: sendingOverGRPC()})
}

// forgetAndRestart kills the agent, and restarts it with the state that killWhileStarting saved.
func (t *tracedRun) forgetAndRestart(ctx context.Context) error {
	if err := t.bench.Node.KillAgent(); err != nil {
		return err
	}
	if err := os.RemoveAll(t.bench.Node.AgentState()); err != nil {
		return fmt.Errorf("restore the agent's earlier state: %w", err)
	}
	if err := os.Rename(t.savedState(), t.bench.Node.AgentState()); err != nil {
		return fmt.Errorf("restore the agent's earlier state: %w", err)
	}
	return t.bench.Node.RestartAgentWith(ctx, node.AgentChange{Environment: sendingOverGRPC()})
}

// pushedMetrics requires that /metrics and the latest export over OTLP count the same number of start-ups.
func (t *tracedRun) pushedMetrics(ctx context.Context) error {
	text, err := t.bench.Agent.Metrics(ctx)
	if err != nil {
		return err
	}
	shown, err := metrics.Sum(text, startupHistogram+"_count")
	if err != nil {
		return err
	}
	t.verdict.Compared++
	err = t.bench.Node.Report.Wait(ctx, "the agent to send its metrics", 10*time.Second, 200*time.Millisecond,
		func(context.Context) error {
			sent, ok, err := otlp.Count(t.bench.Node.OTLP(), startupHistogram)
			if err == nil && (!ok || float64(sent) != shown) {
				err = fmt.Errorf("/metrics counts %v start-ups, but the latest OTLP export counts %d start-ups "+
					"(the export contains the metric: %t)", shown,
					sent, ok)
			}
			return err
		})
	if err != nil {
		t.verdict.Problem("%v", err)
	}
	return nil
}
