package scenario

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/synthetic"
)

// The load of the scenario "many-workloads". Each Deployment has eight or nine pods.
const (
	workloads     = 60
	workloadPods  = 500
	startedAtOnce = 16
	pageOfItems   = 25
	// manyWorkloadsMemory is the largest allowed peak of the agent's resident memory, in MiB.
	manyWorkloadsMemory = 55
)

// manyWorkloads starts 500 pods of 60 Deployments on a synthetic node. This node has a synthetic runtime and no
// kubelet. Then the commands "report" and "explain" must respond in time. The API must return its lists in pages. The
// agent's memory must not exceed a limit.
func manyWorkloads(ctx context.Context, b *bench.Bench, v *Verdict) (err error) {
	runtime := synthetic.NewContainerd()
	leave, err := runtime.Join(ctx, b.Kube, costNode, b.Node.ExtraSocket())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, leave()) }()
	if err := b.Node.StartExtraAgents(ctx, costNode, 1); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Node.StopExtraAgents()) }()
	of := b.Node.Extra(0)
	if err := startWorkloads(ctx, b, runtime); err != nil {
		return err
	}
	if err := awaitStartUps(ctx, b, of); err != nil {
		return err
	}
	if err := v.judgeResponses(ctx, b, of); err != nil {
		return err
	}
	if err := v.judgePages(ctx, of); err != nil {
		return err
	}
	used, err := b.Node.ExtraUsage(0)
	if err != nil {
		return err
	}
	v.Compared++
	v.Note("the agent uses %v of resident memory, %v without the program's file, peak %v", size(used.Memory),
		size(used.Own), size(used.Peak))
	if used.Peak > manyWorkloadsMemory<<20 {
		v.Problem("the agent used up to %v of resident memory, want at most %d MiB", size(used.Peak),
			manyWorkloadsMemory)
	}
	return nil
}

// replicasOf returns the number of pods of a Deployment.
func replicasOf(workload int) int {
	if workload < workloadPods%workloads {
		return workloadPods/workloads + 1
	}
	return workloadPods / workloads
}

// startWorkloads creates the Deployments, and starts the pods that the control plane creates for them.
func startWorkloads(ctx context.Context, b *bench.Bench, runtime *synthetic.Runtime) error {
	for i := range workloads {
		image := fmt.Sprintf("images.invalid/%s/image-%d:1", b.Namespace, i)
		runtime.AddImage(image)
		if err := b.RequestDeployment(ctx, fmt.Sprintf("shop-%d", i), int32(replicasOf(i)),
			synthetic.PodSpec(costNode, []string{image})); err != nil {
			return err
		}
	}
	var pods []corev1.Pod
	err := b.Node.Report.Wait(ctx, fmt.Sprintf("the control plane to create %d pods", workloadPods), 2*time.Minute,
		time.Second, func(ctx context.Context) (err error) {
			if pods, err = b.Kube.Pods(ctx, b.Namespace); err == nil && len(pods) < workloadPods {
				err = fmt.Errorf("found %d pods, want %d", len(pods), workloadPods)
			}
			return err
		})
	if err != nil {
		return err
	}
	kubelet := synthetic.Kubelet{Kube: b.Kube, Runtime: runtime, Node: costNode, Pace: synthetic.Usual()}
	starts, starting := errgroup.WithContext(ctx)
	starts.SetLimit(startedAtOnce)
	for _, pod := range pods {
		starts.Go(func() error {
			_, err := kubelet.StartCreated(starting, pod, false)
			return err
		})
	}
	return starts.Wait()
}

// awaitStartUps waits until the agent has completed the timelines of all pods.
func awaitStartUps(ctx context.Context, b *bench.Bench, of agent.Client) error {
	return b.Node.Report.Wait(ctx, fmt.Sprintf("the agent to report %d complete start-ups", workloadPods), time.Minute,
		time.Second, func(ctx context.Context) error {
			known, err := of.Timelines(ctx)
			if err != nil {
				return err
			}
			complete := 0
			for _, timeline := range known {
				if timeline.State == agent.Ready && !timeline.SettledAt.IsZero() {
					complete++
				}
			}
			if complete < workloadPods {
				return fmt.Errorf("the agent reports %d complete start-ups, want %d", complete, workloadPods)
			}
			return nil
		})
}

// judgeResponses requires that "report" and "explain" respond in time. The command "report" must count all start-ups.
// The command "explain" must count all start-ups of the given workload.
func (v *Verdict) judgeResponses(ctx context.Context, b *bench.Bench, of agent.Client) error {
	began := time.Now()
	text, err := runAgent(ctx, b, "report", "--server", of.Server, "--rows", "100", "-o", "json")
	if err != nil {
		return err
	}
	v.inTime("report", time.Since(began))
	var found fleetReport
	if err := json.Unmarshal([]byte(text), &found); err != nil {
		return fmt.Errorf("read the report: %w", err)
	}
	v.Compared++
	if found.StartUps != workloadPods {
		v.Problem("report counts %d start-ups, want %d", found.StartUps, workloadPods)
	}
	for _, workload := range []int{0, workloads - 1} {
		name := fmt.Sprintf("deployment/shop-%d", workload)
		began := time.Now()
		text, err := runAgent(ctx, b, "explain", "--server", of.Server, "-n", b.Namespace, name, "-o", "json")
		if err != nil {
			return err
		}
		v.inTime("explain "+name, time.Since(began))
		summary, err := readWorkloadReport(text)
		if err != nil {
			return err
		}
		v.Compared++
		if got := summary.Summary.StartUps.Measured; got != replicasOf(workload) {
			v.Problem("explain %s counts %d start-ups, want %d", name, got, replicasOf(workload))
		}
	}
	return nil
}

// judgePages requires that each page has at most the requested number of items, and that all pages together contain all
// pods and all workloads.
func (v *Verdict) judgePages(ctx context.Context, of agent.Client) error {
	for path, want := range map[string]int{"/api/v1/pods": workloadPods, "/api/v1/report": workloads} {
		seen := 0
		for token, pages := "", 0; ; pages++ {
			page, err := of.Page(ctx, path, pageOfItems, token)
			if err != nil {
				return err
			}
			v.Compared++
			if page.Items > pageOfItems || pages > want {
				v.Problem("page %d of %s has %d items, want at most %d", pages, path, page.Items, pageOfItems)
				break
			}
			seen += page.Items
			if token = page.Continue; token == "" {
				break
			}
		}
		if seen != want {
			v.Problem("the pages of %s have %d items, want %d", path, seen, want)
		}
	}
	return nil
}
