// Package sample shows podlapse to a new user. The package starts a small workload. For each pod, the agent then
// explains the duration of the start-up.
package sample

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/node"
)

// Namespace is the namespace of the sample. The namespace remains until the next sample, so that users can inspect its
// pods.
const Namespace = "sample"

const replicas = 2

// scrapeInterval is short, so that users see metrics soon.
const scrapeInterval = 2 * time.Second

// Show starts a new sample and waits until the agent has reported the start-ups of the sample's pods. For each pod,
// Show then runs the agent's command "explain", and writes the output to out.
func Show(ctx context.Context, n node.Node, out, log io.Writer) error {
	program := n.Agent()
	if program == "" {
		return errors.New("show the sample: the sample requires an agent: run \"lab up --agent PATH --sample\"")
	}
	release, err := n.Hold(ctx)
	if err != nil {
		return err
	}
	defer release()
	// Remove the pods of an earlier sample, because the sample must start new pods.
	if err := bench.ClearAll(ctx, n, Namespace); err != nil {
		return fmt.Errorf("remove the earlier sample: %w", err)
	}
	b, err := bench.Set(ctx, n, Namespace, Namespace)
	if b != nil {
		defer b.Kube.Close()
	}
	if err != nil {
		return fmt.Errorf("prepare the sample: %w", err)
	}
	if err := monitor(ctx, n); err != nil {
		return err
	}
	pods, err := start(ctx, b)
	if resetErr := b.ResetFaults(ctx); err == nil {
		err = resetErr
	}
	if err != nil {
		return fmt.Errorf("start the sample: %w", err)
	}
	slices.Sort(pods)
	for _, pod := range pods {
		fmt.Fprintln(out)
		cmd := exec.CommandContext(ctx, program, "explain", "--server="+b.Agent.Server, Namespace+"/"+pod)
		cmd.Stdout, cmd.Stderr = out, log
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("run \"explain\" for pod %s: %w", pod, err)
		}
	}
	fmt.Fprintln(out)
	return nil
}

// monitor starts a Prometheus server that users can try. The server scrapes the agent and evaluates podlapse's rules
// without changes. If the lab can neither find nor download Prometheus, the sample runs without Prometheus.
func monitor(ctx context.Context, n node.Node) error {
	if err := n.FindPrometheus(ctx); err != nil {
		n.Report.Say("the sample runs without Prometheus: %v", err)
		return nil
	}
	rules, err := node.Rules()
	if err != nil {
		return err
	}
	_, err = n.StartMonitoring(ctx, node.Monitoring{Interval: scrapeInterval, Rules: rules})
	return err
}

// start deploys the sample and waits until the agent has reported the sample's pods as ready. The result is the names
// of the pods. The function slows down the registry, so that users can see the pull and the pull queue.
func start(ctx context.Context, b *bench.Bench) ([]string, error) {
	image, err := b.Image(ctx, "shop", 12<<20)
	if err != nil {
		return nil, err
	}
	if err := b.Throttle(ctx, 8<<20); err != nil {
		return nil, err
	}
	b.Node.Report.Say("starting the sample, two pods in namespace %s", Namespace)
	pods, err := b.CreateDeployment(ctx, "shop", replicas, corev1.PodSpec{
		InitContainers: []corev1.Container{
			bench.InitContainer("migrate", b.BaseImage, 800*time.Millisecond),
			bench.Sidecar("proxy", b.BaseImage),
		},
		Containers: []corev1.Container{bench.MainContainer("shop", image, 1500*time.Millisecond)},
	})
	if err != nil {
		return nil, err
	}
	for _, pod := range pods {
		if err := b.AwaitReady(ctx, pod, time.Minute); err != nil {
			return nil, err
		}
		timeline, err := b.AwaitSettled(ctx, pod)
		if err != nil {
			return nil, err
		}
		if timeline.State != agent.Ready {
			return nil, fmt.Errorf("pod %s is ready, but the agent reports the state %q", pod, timeline.State)
		}
	}
	return pods, nil
}
