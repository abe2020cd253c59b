package scenario

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/layout"
	"github.com/podlapse/podlapse/lab/internal/node"
	"github.com/podlapse/podlapse/lab/internal/podproxy"
	"github.com/podlapse/podlapse/lab/internal/synthetic"
)

// The second node of the scenario "report" is not a real node. The second node consists of Kubernetes objects and a
// simulated container runtime. On this second node, the network setup of each pod takes as long as the constant
// slowNetwork. On the third node, no process listens on the agent's address.
const (
	slowNode    = "node-2"
	slowPods    = 6
	slowNetwork = 2500 * time.Millisecond
	slowVolumes = 300 * time.Millisecond // about as long as on a real node
	silentNode  = "node-3"
	silentAgent = 7 // index of an extra agent that the scenario does not start
)

// joinSlow adds the slow node and its agent to the cluster. The returned function "leave" removes the node and its
// agent.
func joinSlow(ctx context.Context, b *bench.Bench) (runtime *synthetic.Runtime, leave func() error, err error) {
	runtime = synthetic.NewContainerd()
	end, err := runtime.Join(ctx, b.Kube, slowNode, b.Node.ExtraSocket())
	if err != nil {
		return nil, nil, err
	}
	leave = func() error { return errors.Join(b.Node.StopExtraAgents(), end()) }
	agent := node.ExtraAgent{Program: b.Node.Agent(), Kubeconfig: b.Node.AgentKubeconfig(),
		Flags: []string{withWorkloads}}
	if err := b.Node.StartExtraAgentsOf(ctx, slowNode, []node.ExtraAgent{agent}); err != nil {
		return nil, nil, errors.Join(err, leave())
	}
	return runtime, leave, nil
}

// slowNodeRun contains the state of the scenario before the pods of the slow node start.
type slowNodeRun struct {
	runtime  *synthetic.Runtime
	arrivals *bench.Arrivals
	truth    reportTruth
	total    int // number of start-ups on the lab's real node
	metrics  reportMetrics
}

// judgeSlowNode starts pods on a node with a slow network, and then requests a report from three agents. The agent of
// the third node does not respond. judgeSlowNode also requests the report from Prometheus.
func (v *Verdict) judgeSlowNode(ctx context.Context, b *bench.Bench, run slowNodeRun) (err error) {
	slow, err := startSlow(ctx, b, run.runtime, run.arrivals)
	if err != nil {
		return err
	}
	proxy, err := podproxy.Start(ctx, podproxy.Agent{Node: layout.NodeName, Server: b.Agent.Server},
		podproxy.Agent{Node: slowNode, Server: b.Node.Extra(0).Server},
		podproxy.Agent{Node: silentNode, Server: b.Node.Extra(silentAgent).Server})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, proxy.Close()) }()
	kubeconfig := b.Node.In("report-kubeconfig")
	if err := proxy.WriteKubeconfig(kubeconfig); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(kubeconfig)) }()
	runReport := func(ctx context.Context, arguments ...string) (string, error) {
		return runPartial(ctx, b, append([]string{"report", "--kubeconfig", kubeconfig}, arguments...)...)
	}
	report, err := awaitReportOf(ctx, b, run.total+slowPods, func(ctx context.Context) (string, error) {
		return runReport(ctx, "-o", "json")
	})
	if err != nil {
		return err
	}
	v.judgeNodes(report, run.total+slowPods, slow, run.truth.meanWork())
	text, err := runReport(ctx)
	if err != nil {
		return err
	}
	for _, want := range []string{"node " + slowNode + ": ", "most in network",
		"without a valid response: " + silentNode} {
		if v.Compared++; !strings.Contains(text, want) {
			v.Problem("the text of report does not contain %q:\n%s", want, text)
		}
	}
	v.Note("report of three nodes:\n%s", text)
	return run.metrics.judge(ctx, report, run.truth, slow)
}

// startSlow starts the pods of the slow node, and returns the durations of their start-ups.
func startSlow(ctx context.Context, b *bench.Bench, runtime *synthetic.Runtime,
	arrivals *bench.Arrivals) ([]time.Duration, error) {
	image := "images.invalid/" + b.Namespace + "/slow:1"
	runtime.AddImage(image)
	pace := synthetic.Usual()
	pace.Volumes, pace.Network = slowVolumes, slowNetwork
	kubelet := synthetic.Kubelet{Kube: b.Kube, Runtime: runtime, Node: slowNode, Pace: pace}
	starts, starting := errgroup.WithContext(ctx)
	for i := range slowPods {
		starts.Go(func() error {
			_, err := kubelet.Start(starting, b.Namespace, slowName(i), []string{image}, false)
			return err
		})
	}
	if err := starts.Wait(); err != nil {
		return nil, err
	}
	lengths := make([]time.Duration, slowPods)
	err := b.Node.Report.Wait(ctx, "the watch to deliver the pods of the slow node", startLimit, 20*time.Millisecond,
		func(context.Context) error {
			for i := range lengths {
				seen := arrivals.Of(slowName(i))
				if seen.ReadyAt.IsZero() {
					return fmt.Errorf("pod %s is not ready", slowName(i))
				}
				lengths[i] = seen.ReadyAt.Sub(seen.CreatedAt)
			}
			return nil
		})
	return lengths, err
}

func slowName(i int) string { return fmt.Sprintf("slow-%d", i) }

// runPartial runs a command of the agent's program, and returns its output. The command must exit with exitPartial,
// because an agent did not respond.
func runPartial(ctx context.Context, b *bench.Bench, arguments ...string) (string, error) {
	output, err := exec.CommandContext(ctx, b.Node.Agent(), arguments...).Output()
	var exited *exec.ExitError
	command := strings.Join(arguments, " ")
	switch {
	case err == nil:
		return "", fmt.Errorf("run %s: got exit code 0, want %d", command, exitPartial)
	case !errors.As(err, &exited):
		return "", fmt.Errorf("run %s: %w", command, err)
	case exited.ExitCode() != exitPartial:
		return "", fmt.Errorf("run %s: %w, want exit code %d: %s", command, err, exitPartial, exited.Stderr)
	}
	return string(output), nil
}

// judgeNodes requires that the report shows the slow node with its true factor and its true lost time. The report must
// also name the agent that did not respond. The argument "slow" contains the true durations of the start-ups on the
// slow node. The argument "work" is the true mean time that the lab's real node needed for the volumes, the network and
// the runtime of a start-up. The true factor is the mean of "slow", divided by "work".
func (v *Verdict) judgeNodes(r fleetReport, total int, slow []time.Duration, work time.Duration) {
	v.Compared += 2
	if r.NodeCount != 2 || r.StartUps != total {
		v.Problem("the report contains %d start-ups of %d nodes, want %d of 2", r.StartUps, r.NodeCount, total)
	}
	if want := "the report lacks 1 agent without a valid response: " + silentNode; !slices.Contains(r.Notes, want) {
		v.Problem("the notes of the report are %q, want the note %q", r.Notes, want)
	}
	v.judgeWorstNode(r.Nodes, slow, work)
}

// judgeWorstNode requires that the slow node is the only node that the report lists. The arguments "slow" and "work"
// have the same meaning as for judgeNodes.
func (v *Verdict) judgeWorstNode(nodes reportSection, slow []time.Duration, work time.Duration) {
	row, there := nodes.row(slowNode)
	if v.Compared++; len(nodes.Items) != 1 || row.Most != "network" {
		v.Problem("the slow node is %s, because of its network, but the report contains %+v", slowNode, nodes)
	}
	observed := meanOf(slow)
	v.compareFactor("node "+slowNode, observed.Seconds()/work.Seconds(), row, there)
	within := func(what string, truth time.Duration, row reportRow) {
		v.requireBetween(what, truth-truth/4, truth+truth/4, row)
	}
	count := time.Duration(len(slow))
	within("lost by node "+slowNode, count*(observed-work), row)
	row.Lost = row.MostLost
	within("lost in the network of node "+slowNode, count*min(slowNetwork, observed-work), row)
}
