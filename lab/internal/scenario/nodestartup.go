package scenario

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/node"
)

const (
	// startUpTaint is Cilium's start-up taint. The scenario's DaemonSet has Cilium's usual name. From the DaemonSet's
	// name, the agent knows that the DaemonSet belongs to the network plugin.
	startUpTaint   = "node.cilium.io/agent-not-ready"
	startUpNetwork = "cilium"
	startUpPod     = "web"

	beforeRuntime = 3 * time.Second // time from the boot until containerd starts
	beforeKubelet = 4 * time.Second // time from the start of containerd until the kubelet starts
	// beforeNetwork is the time from the kubelet's start until the network is configured. In this time, the kubelet
	// reports the node's status twice.
	beforeNetwork = 22 * time.Second
	beforeTaint   = 6 * time.Second // time from the readiness of the node until the taint is removed
	startUpReady  = 2 * time.Second // time from the start of the workload's container until the container is ready
	startUpLayer  = 16 << 20        // size of the DaemonSet's image, in bytes
	startUpRate   = 2 << 20         // bytes per second, so that the pull takes 8 s

	planeLimit = time.Second            // largest accepted difference for the boot time and for control-plane times
	ownLimit   = 100 * time.Millisecond // largest accepted difference for timestamps that come from the node

	// The agent reports each instant as an interval. planeWidth is the largest accepted length of the interval in two
	// cases. In the first case, the timestamp of the instant is in whole seconds. In the second case, the instant is
	// the removal of a taint. The agent lists the Node object once per second to learn of such a removal.
	planeWidth = 1200 * time.Millisecond
	// The agent reports the total time with an error bound. totalErrorLimit is the largest accepted error bound. The
	// start and the end of the total time have timestamps in whole seconds.
	totalErrorLimit = 3 * time.Second
)

// nodeBoot contains the true times of the node's start-up.
type nodeBoot struct {
	*bench.Bench
	verdict *Verdict

	records int // number of records about node start-ups that the agent printed before this scenario

	booted, launched, kubelet, registered, ready time.Time  // launched: right before the kubelet's process starts
	taint                                        bench.Span // the request that removed the taint
	pull                                         bench.Span
	bound, workload                              time.Time
}

// nodeStartUp starts the parts of the node one after the other, as after a boot. First, nodeStartUp starts containerd,
// then the kubelet, and then the network plugin. The network plugin has a DaemonSet whose image takes 8 s to pull. At
// the end, nodeStartUp removes a start-up taint. The agent must report each delay in the right phase. One pod exists
// before the node registers, so this pod waits for every part of the start-up.
func nodeStartUp(ctx context.Context, b *bench.Bench, v *Verdict) (err error) {
	err = b.GrantAgent(ctx, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"nodes"},
		Verbs: []string{"list", "watch"}})
	if err != nil {
		return err
	}
	n := &nodeBoot{Bench: b, verdict: v}
	if n.records, err = agent.NodeStartUps(b.Node.AgentRecords()); err != nil {
		return err
	}
	defer func() { // if the taint remained, the kubelet could not restart with its usual settings
		restoring, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
		defer cancel()
		err = errors.Join(err, b.Node.RestoreNetwork(), b.Node.StartContainerd(restoring),
			b.Node.StartKubelet(restoring),
			b.Node.Report.Wait(restoring, "the node object without taints", 20*time.Second, 500*time.Millisecond,
				func(ctx context.Context) error { return b.Kube.Merge(ctx, nodePath, withoutTaints()) }))
	}()
	image, err := b.Image(ctx, startUpNetwork, startUpLayer)
	if err != nil {
		return err
	}
	if err := b.Throttle(ctx, startUpRate); err != nil {
		return err
	}
	if err := b.Node.SwitchOff(ctx); err != nil {
		return err
	}
	if err := n.boot(ctx, image); err != nil {
		return err
	}
	report, err := n.awaitReport(ctx)
	if err != nil {
		return err
	}
	n.judge(report)
	n.judgeErrors(report)
	return errors.Join(n.judgeOutputs(ctx, report), n.judgePage(ctx, report))
}

func withoutTaints() map[string]any {
	return map[string]any{"spec": map[string]any{"taints": nil}}
}

// boot starts all parts of the node and records the times.
func (n *nodeBoot) boot(ctx context.Context, image string) error {
	n.booted = time.Now()
	proc, err := n.Node.BootFiles(n.booted)
	if err != nil {
		return err
	}
	change := node.AgentChange{Flags: []string{"--node-startup", "--proc-dir=" + proc}}
	if err := n.Node.RestartAgentWith(ctx, change); err != nil {
		return err
	}
	err = errors.Join(
		n.CreatePod(ctx, startUpPod, corev1.PodSpec{Containers: []corev1.Container{
			bench.MainContainer(mainName, n.BaseImage, startUpReady)}}),
		n.CreateWorkload(ctx, bench.DaemonSet, startUpNetwork, corev1.PodSpec{HostNetwork: true,
			Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			Containers:  []corev1.Container{bench.MainContainer(mainName, image, time.Second)}}))
	if err != nil {
		return err
	}
	if err := sleep(ctx, beforeRuntime-time.Since(n.booted)); err != nil {
		return err
	}
	if err := n.Node.LaunchContainerd(); err != nil {
		return err
	}
	if err := sleep(ctx, beforeKubelet); err != nil {
		return err
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	seen := make(chan error, 1)
	go func() { seen <- n.pollNode(watching) }()
	taint := corev1.Taint{Key: startUpTaint, Effect: corev1.TaintEffectNoSchedule}
	n.launched = time.Now()
	if err := n.Node.StartKubelet(ctx, taint); err != nil {
		return err
	}
	if err := sleep(ctx, beforeNetwork); err != nil {
		return err
	}
	if err := n.Node.RestoreNetwork(); err != nil {
		return err
	}
	if err := <-seen; err != nil {
		return err
	}
	return n.finish(ctx)
}

// pollNode polls the Node object until the node is ready.
func (n *nodeBoot) pollNode(ctx context.Context) error {
	const every, limit = 20 * time.Millisecond, 2 * time.Minute
	return n.Node.Report.Wait(ctx, "the node to be ready", limit, every, func(ctx context.Context) error {
		var object corev1.Node
		if err := n.Kube.Get(ctx, nodePath, &object); err != nil {
			return err
		}
		now := time.Now()
		if n.registered.IsZero() {
			n.registered = now
		}
		if !slices.ContainsFunc(object.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
		}) {
			return errors.New("the node is not ready")
		}
		n.ready = now
		return nil
	})
}

// finish removes the taint and waits until the workload is ready.
func (n *nodeBoot) finish(ctx context.Context) (err error) {
	if err := sleep(ctx, beforeTaint); err != nil {
		return err
	}
	if n.taint, err = bench.Dated(func() error { return n.Kube.Merge(ctx, nodePath, withoutTaints()) }); err != nil {
		return err
	}
	if err := n.AwaitReady(ctx, startUpPod, startLimit); err != nil {
		return err
	}
	n.workload = time.Now()
	if n.kubelet, err = n.KubeletStartedAt(n.booted); err != nil {
		return err
	}
	if n.bound, err = n.BoundAt(ctx, startUpPod); err != nil {
		return err
	}
	n.pull, err = n.PullTruth(ctx, startUpNetwork)
	return err
}

func (n *nodeBoot) awaitReport(ctx context.Context) (report agent.NodeStartUp, err error) {
	err = n.Node.Report.Wait(ctx, "the agent's report about the node", 30*time.Second, 200*time.Millisecond,
		func(ctx context.Context) error {
			if report, err = n.Agent.NodeStartUp(ctx); err == nil && (report.State != agent.Ready || report.Partial) {
				err = fmt.Errorf("the start-up of the node is in the state %q (partial: %t): %s", report.State,
					report.Partial, report.Verdict)
			}
			return err
		})
	return report, err
}

// judgeOutputs checks the metrics, the record, and the commands "node" and "explain". One of the node's NotReady
// messages must name the network. The verdict must name the waiting pod.
func (n *nodeBoot) judgeOutputs(ctx context.Context, report agent.NodeStartUp) error {
	n.verdict.Compared += 4
	if !slices.ContainsFunc(report.NotReady, func(r struct{ Message string }) bool {
		return strings.Contains(r.Message, "container runtime network not ready")
	}) {
		n.verdict.Problem("no message names the network: %v", report.NotReady)
	}
	if want := "Pod " + n.Namespace + "/" + startUpPod + " waited "; !strings.Contains(report.Verdict, want) {
		n.verdict.Problem("the verdict %q does not contain %q", report.Verdict, want)
	}
	total, _ := report.TotalLength()
	h := healthRun{n.Bench, n.verdict}
	h.checkNow(ctx, sample{"podlapse_node_startup_seconds", nil, total.Seconds()},
		sample{"podlapse_node_startup_reconstructed", nil, 0})
	if count, err := agent.NodeStartUps(n.Node.AgentRecords()); err != nil || count != n.records+1 {
		n.verdict.Problem("the agent printed %d records about the node, want 1; %v", count-n.records, err)
	}
	arguments := []string{"node", "--server", n.Agent.Server}
	text, err := exec.CommandContext(ctx, n.Node.Agent(), arguments...).Output()
	if err != nil {
		return fmt.Errorf("run the command \"node\": %w", err)
	}
	if !strings.Contains(string(text), startUpTaint) {
		n.verdict.Problem("the command \"node\" prints no taint:\n%s", text)
	}
	n.verdict.Note("node:\n%s", text)
	explained, err := explainOnNode(ctx, n.Bench, startUpPod)
	if err != nil {
		return err
	}
	n.verdict.Compared++
	if want := "Pod " + n.Namespace + "/" + startUpPod + " waited "; !strings.Contains(
		strings.Join(strings.Fields(explained), " "), "START-UP OF THE NODE "+want) {
		n.verdict.Problem("the command \"explain\" does not print how long the pod waited:\n%s", explained)
	}
	return nil
}
