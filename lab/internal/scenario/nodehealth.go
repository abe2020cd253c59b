package scenario

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/image"
	"github.com/podlapse/podlapse/lab/internal/layout"
	"github.com/podlapse/podlapse/lab/internal/metrics"
	"github.com/podlapse/podlapse/lab/internal/node"
	"github.com/podlapse/podlapse/lab/internal/workload"
)

const nodePath = "/api/v1/nodes/" + layout.NodeName

// nodeHealth changes the node and the pods, and checks the agent's reports about its node. The scenario cordons the
// node, makes it not ready, and waits until it is available again. One add-on crashes, and another add-on is healthy.
// The machine is under pressure while a pod starts.
func nodeHealth(ctx context.Context, b *bench.Bench, v *Verdict) (err error) {
	err = b.GrantAgent(ctx, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"nodes"},
		Verbs: []string{"list", "watch"}})
	if err != nil {
		return err
	}
	if err := b.Kube.Merge(ctx, nodePath,
		nodeChange(nil, map[string]any{corev1.LabelTopologyZone: "lab-a",
			"karpenter.sh/nodepool": "lab"})); err != nil {
		return err
	}
	defer func() { // restore the node even if ctx is already canceled
		restoring, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		err = errors.Join(err, b.Kube.Merge(restoring, nodePath,
			nodeChange(false, map[string]any{corev1.LabelTopologyZone: nil, "karpenter.sh/nodepool": nil})))
	}()
	err = b.Node.RestartAgentWith(ctx,
		node.AgentChange{Flags: []string{"--node-health", "--node-warm-up=0s", "--pressure",
			"--addons=:lab-addon=" + b.Namespace}})
	if err != nil {
		return err
	}
	h := healthRun{b, v}
	if err := h.awaitSamples(ctx, "the node to be available", 20*time.Second,
		sample{"podlapse_node_available", nil, 1}); err != nil {
		return err
	}
	h.checkNow(ctx,
		sample{"podlapse_node_info", []string{`zone="lab-a"`, `node_pool="lab"`}, 1},
		sample{"podlapse_node_condition", []string{`condition="Ready"`, `status="true"`}, 1},
		sample{"podlapse_node_condition", []string{`condition="Ready"`, `status="false"`}, 0},
		sample{"podlapse_node_availability", nil, 3}, sample{"podlapse_node_unavailable", nil, 0},
		sample{"podlapse_addons_available", nil, 1})
	if err := h.cordon(ctx); err != nil {
		return err
	}
	if err := h.startAddOns(ctx); err != nil {
		return err
	}
	if err := h.slowDisk(ctx); err != nil {
		return err
	}
	return h.notReady(ctx)
}

// nodeChange returns a merge patch for a node. The patch does not change a field whose argument is nil.
func nodeChange(unschedulable any, labels map[string]any) map[string]any {
	change := map[string]any{}
	if labels != nil {
		change["metadata"] = map[string]any{"labels": labels}
	}
	if unschedulable != nil {
		change["spec"] = map[string]any{"unschedulable": unschedulable}
	}
	return change
}

// healthRun queries the agent and checks the results.
type healthRun struct {
	*bench.Bench
	verdict *Verdict
}

// sample contains the expected value of a metric. This value is the sum of all series with the given labels.
type sample struct {
	name   string
	labels []string
	want   float64
}

func (s sample) of(text string) error {
	got, err := metrics.Sum(text, s.name, s.labels...)
	if err == nil && got != s.want {
		err = fmt.Errorf("metric %s%v is %v, want %v", s.name, s.labels, got, s.want)
	}
	return err
}

// awaitSamples waits until all samples have their expected values at the same time. If the wait times out, the error
// lists the samples with unexpected values.
func (h healthRun) awaitSamples(ctx context.Context, what string, limit time.Duration, wanted ...sample) error {
	h.verdict.Compared += len(wanted)
	return h.Node.Report.Wait(ctx, what, limit, 50*time.Millisecond, func(ctx context.Context) error {
		text, err := h.Agent.Metrics(ctx)
		if err != nil {
			return err
		}
		var wrong []error
		for _, s := range wanted {
			wrong = append(wrong, s.of(text))
		}
		return errors.Join(wrong...)
	})
}

// checkNow checks the current values of the samples.
func (h healthRun) checkNow(ctx context.Context, wanted ...sample) {
	text, err := h.Agent.Metrics(ctx)
	if err != nil {
		h.verdict.Problem("%v", err)
		return
	}
	for _, s := range wanted {
		h.verdict.Compared++
		if err := s.of(text); err != nil {
			h.verdict.Problem("%v", err)
		}
	}
}

// reportedWithin is the longest accepted time until the metrics show a change of the node. The agent learns of each
// change from its watch of the Node object.
const reportedWithin = 2 * time.Second

func (h healthRun) cordon(ctx context.Context) error {
	for _, step := range []struct {
		what     string
		cordoned bool
		want     []sample
	}{
		{"the cordon to be reported", true, []sample{
			{"podlapse_node_available", nil, 0}, {"podlapse_node_availability", []string{`aspect="schedulable"`}, 0},
			{"podlapse_node_availability", []string{`aspect="ready"`}, 1}, {"podlapse_addons_available", nil, 0},
			{"podlapse_node_unavailable", []string{`aspect="schedulable"`, `reason="Cordoned"`}, 1},
			{"podlapse_node_unavailable", nil, 1}}},
		{"the end of the cordon to be reported", false, []sample{{"podlapse_node_available", nil, 1},
			{"podlapse_node_unavailable", nil, 0}}},
	} {
		if err := h.Kube.Merge(ctx, nodePath, nodeChange(step.cordoned, nil)); err != nil {
			return err
		}
		begun := time.Now()
		if err := h.awaitSamples(ctx, step.what, reportedWithin, step.want...); err != nil {
			h.verdict.Problem("%v", err)
			continue
		}
		h.verdict.Note("time for %s: %s s", step.what, seconds(time.Since(begun)))
	}
	return nil
}

// notReady sets the node's condition "Ready" to false through the API server. With its next status update, the kubelet
// sets the condition "Ready" to true again.
func (h healthRun) notReady(ctx context.Context) error {
	now := metav1.Now()
	condition := corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionFalse, Reason: "LabNotReady",
		Message:           "set by a scenario",
		LastHeartbeatTime: now, LastTransitionTime: now}
	change := map[string]any{"status": map[string]any{"conditions": []corev1.NodeCondition{condition}}}
	if err := h.Kube.MergeLists(ctx, nodePath+"/status", change); err != nil {
		return err
	}
	err := h.awaitSamples(ctx, "NotReady to be reported", reportedWithin,
		sample{"podlapse_node_available", nil, 0},
		sample{"podlapse_node_condition", []string{`condition="Ready"`, `status="false"`}, 1},
		sample{"podlapse_node_condition", []string{`condition="Ready"`, `status="true"`}, 0},
		sample{"podlapse_node_unavailable", []string{`aspect="ready"`, `reason="LabNotReady"`}, 1})
	if err != nil {
		h.verdict.Problem("%v", err)
	}
	const reportLimit = 20 * time.Second // the kubelet checks the Node object's status every 10 s
	if err := h.awaitSamples(ctx, "the kubelet to report that it is ready", reportLimit,
		sample{"podlapse_node_available", nil, 1}, sample{"podlapse_node_unavailable", nil, 0}); err != nil {
		h.verdict.Problem("%v", err)
	}
	return nil
}

// slowDisk unpacks an image with many files while other tasks keep the disk busy.
func (h healthRun) slowDisk(ctx context.Context) error {
	const files, tasks, pod = 20_000, 12, "unpacks"
	layer, err := image.ManyFiles(files)
	if err != nil {
		return err
	}
	reference, err := h.ImageOf(ctx, pod, layer)
	if err != nil {
		return err
	}
	sampler, err := samplePressure("io")
	if err != nil {
		return err
	}
	defer sampler.stop()
	rest, err := busyDisk(h.Node.State, tasks)
	if err != nil {
		return err
	}
	defer func() { _ = rest() }()
	timeline, err := startPlain(ctx, h.Bench, pod, reference)
	if err != nil {
		return err
	}
	if err := rest(); err != nil {
		return err
	}
	sampler.stop()
	h.verdict.Contract(timeline)
	sampler.judge(timeline, h.verdict, "unpack")
	return nil
}

// startAddOns starts two add-ons. The container of the first add-on crashes after each start. The second add-on is
// healthy, and starts while the CPUs are busy.
func (h healthRun) startAddOns(ctx context.Context) error {
	const exitCode, readyAfter = "7", 2 * time.Second
	crashing := corev1.Container{Name: "crashing", Image: h.BaseImage, Env: []corev1.EnvVar{
		{Name: workload.CrashAfter, Value: "100ms"}, {Name: workload.ExitCode, Value: exitCode}}}
	labels := func(name, version string) map[string]string {
		return map[string]string{"lab-addon": h.Namespace, "app.kubernetes.io/name": name,
			"app.kubernetes.io/version": version}
	}
	if err := h.CreateLabelledPod(ctx, "crashing", labels("lab-dns", "1.2.3"),
		corev1.PodSpec{Containers: []corev1.Container{crashing}}); err != nil {
		return err
	}
	sampler, err := samplePressure("cpu")
	if err != nil {
		return err
	}
	defer sampler.stop()
	rest := keepBusy(3 * runtime.NumCPU())
	defer rest()
	err = h.CreateLabelledPod(ctx, "well", labels("lab-proxy", "2"),
		corev1.PodSpec{Containers: []corev1.Container{bench.MainContainer(mainName, h.BaseImage, readyAfter)}})
	if err != nil {
		return err
	}
	if err := h.AwaitReady(ctx, "well", startLimit); err != nil {
		return err
	}
	rest()
	timeline, err := h.AwaitSettled(ctx, "well")
	if err != nil {
		return err
	}
	sampler.stop()
	h.verdict.Contract(timeline)
	sampler.judge(timeline, h.verdict)

	// The kubelet restarts the crashed container immediately. After the next crash, the kubelet waits 10 s.
	of := func(name string, more ...string) []string { return append([]string{`addon="` + name + `"`}, more...) }
	err = h.awaitSamples(ctx, "the crash loop to be reported", 30*time.Second,
		sample{"podlapse_addon_restarts_total",
			of("lab-dns", `version="1.2.3"`, `container="crashing"`, `reason="error"`, `exit_code="`+exitCode+`"`), 2},
		sample{"podlapse_addon_pods", of("lab-dns"), 1}, sample{"podlapse_addon_pods_available", of("lab-dns"), 0},
		sample{"podlapse_addon_pods", of("lab-proxy"), 1},
		sample{"podlapse_addon_pods_available", of("lab-proxy", `version="2"`), 1},
		sample{"podlapse_addons_available", nil, 0}, sample{"podlapse_node_available", nil, 1})
	if err != nil {
		h.verdict.Problem("%v", err)
	}
	h.checkNow(ctx, sample{"podlapse_addon_restarts_total", nil, 2}, sample{"podlapse_addon_pods", nil, 2})
	for _, pod := range []string{"crashing", "well"} {
		if err := h.DeletePod(ctx, pod); err != nil {
			return err
		}
		if err := h.AwaitGone(ctx, pod); err != nil {
			return err
		}
	}
	return h.awaitSamples(ctx, "deleted add-ons to disappear from the metrics", reportedWithin,
		sample{"podlapse_addon_pods", nil, 0}, sample{"podlapse_addons_available", nil, 1})
}
