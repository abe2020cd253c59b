package scenario

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/node"
	"github.com/podlapse/podlapse/lab/internal/process"
	"github.com/podlapse/podlapse/lab/internal/synthetic"
)

// Settings of the scenario "agent-memory".
const (
	largeNodePods = 500
	largePodBytes = 15 << 10 // minimum size of a pod object in JSON
	pagesOnly     = "KUBE_FEATURE_WatchListClient=false"
)

// agentMemory measures the memory of two agents that start on a node with 500 pods. One agent gets the pods as a
// streaming list. The other agent gets the pods in pages, as every agent does if the API server does not support
// streaming lists. The node is not real: it consists only of Kubernetes objects and a synthetic runtime.
func agentMemory(ctx context.Context, b *bench.Bench, v *Verdict) (err error) {
	runtime := synthetic.NewRuntime()
	leave, err := runtime.Join(ctx, b.Kube, costNode, b.Node.ExtraSocket())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, leave()) }()
	if err := fillLargeNode(ctx, b, v, runtime); err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, b.Kube.DeletePods(context.WithoutCancel(ctx), b.Node.Report, b.Namespace))
	}()
	defer func() { err = errors.Join(err, b.Node.StopExtraAgents(), b.Node.StopFloor()) }()
	plain := node.ExtraAgent{Program: b.Node.Agent(), Kubeconfig: b.Node.AgentKubeconfig()}
	paged := plain
	paged.Env = []string{pagesOnly}
	if err := b.Node.StartExtraAgentsOf(ctx, costNode, []node.ExtraAgent{plain, paged}); err != nil {
		return err
	}
	if err := b.Node.StartFloor(ctx, costNode); err != nil {
		return err
	}
	used := make([]process.Usage, 2)
	lists := []string{"a streaming list", "paged lists"}
	for extra, list := range lists {
		if used[extra], err = largeNodeUsage(ctx, b, extra, list); err != nil {
			return err
		}
	}
	floor, err := b.Node.FloorUsage()
	if err != nil {
		return err
	}
	v.Note("a bare client-go reflector with a streaming list: %v of resident memory, %v without the program's file, "+
		"peak %v", size(floor.Memory), size(floor.Own), size(floor.Peak))
	for extra, list := range lists {
		v.judgeLargeNode(list, used[extra], floor)
	}
	return nil
}

// fillLargeNode starts largeNodePods pods of at least largePodBytes each.
func fillLargeNode(ctx context.Context, b *bench.Bench, v *Verdict, runtime *synthetic.Runtime) error {
	images := make([]string, costContainers)
	for i := range images {
		images[i] = fmt.Sprintf("images.invalid/%s/image-%d:1", b.Namespace, i+1)
		runtime.AddImage(images[i])
	}
	kubelet := synthetic.Kubelet{Kube: b.Kube, Runtime: runtime, Node: costNode, Pace: synthetic.Usual(),
		Change: enlarge}
	starts, starting := errgroup.WithContext(ctx)
	starts.SetLimit(16)
	for i := range largeNodePods {
		starts.Go(func() error {
			_, err := kubelet.Start(starting, b.Namespace, fmt.Sprintf("large-%d", i+1), images, false)
			return err
		})
	}
	if err := starts.Wait(); err != nil {
		return err
	}
	var object json.RawMessage
	if err := b.Kube.Get(ctx, "/api/v1/namespaces/"+b.Namespace+"/pods/large-1", &object); err != nil {
		return err
	}
	v.Note("%d pods of %.1f KiB each", largeNodePods, float64(len(object))/1024)
	if len(object) < largePodBytes {
		v.Problem("a pod object has %d bytes, want at least %d: the measurement is too easy", len(object),
			largePodBytes)
	}
	return nil
}

// enlarge adds the parts that usually make a pod large: many variables in each container, and long annotations.
func enlarge(pod *corev1.Pod) {
	for i := range pod.Spec.Containers {
		for j := range 10 {
			pod.Spec.Containers[i].Env = append(pod.Spec.Containers[i].Env, corev1.EnvVar{
				Name: fmt.Sprintf("SERVICE_VARIABLE_%02d", j), Value: strings.Repeat("v", 60)})
		}
	}
	pod.Annotations = map[string]string{}
	for i := range 4 {
		pod.Annotations[fmt.Sprintf("example.com/configuration-%d", i)] = strings.Repeat("a", 600)
	}
}

// largeNodeUsage returns the memory of one agent after the agent has reconstructed the start-ups of all pods.
func largeNodeUsage(ctx context.Context, b *bench.Bench, extra int, list string) (process.Usage, error) {
	err := b.Node.Report.Wait(ctx, fmt.Sprintf("the agent with %s to know %d pods", list, largeNodePods), time.Minute,
		time.Second, func(ctx context.Context) error {
			known, err := b.Node.Extra(extra).Timelines(ctx)
			if err == nil && len(known) < largeNodePods {
				err = fmt.Errorf("the agent knows %d pods, want %d", len(known), largeNodePods)
			}
			return err
		})
	if err != nil {
		return process.Usage{}, err
	}
	// Wait until the agent has returned unused memory to the kernel.
	if err := sleep(ctx, 20*time.Second); err != nil {
		return process.Usage{}, err
	}
	return b.Node.ExtraUsage(extra)
}

// judgeLargeNode compares an agent with a program that only runs a client-go reflector. If the agent's peak memory is
// larger than the program's peak memory, judgeLargeNode adds a problem to the verdict. The program's peak memory varies
// by several MiB from run to run.
func (v *Verdict) judgeLargeNode(list string, used, floor process.Usage) {
	v.Compared++
	v.Note("the agent with %s: %v of resident memory, %v without the program's file, peak %v (%d %% of the reflector)",
		list, size(used.Memory), size(used.Own), size(used.Peak), 100*used.Peak/floor.Peak)
	if used.Peak > floor.Peak {
		v.Problem("the agent with %s used up to %v of resident memory, want at most the reflector's %v", list,
			size(used.Peak), size(floor.Peak))
	}
}
