package scenario

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/layout"
	"github.com/podlapse/podlapse/lab/internal/prometheus"
	"github.com/podlapse/podlapse/lab/internal/registry"
)

const (
	registryFailing = "PodlapseRegistryFailing"
	agentDown       = "PodlapseAgentDown"
	// refusedAddress is the address of a registry that refuses connections. No program of the lab listens on this port.
	refusedAddress = "127.0.0.1:9"
)

// The function "failures" runs after the test of the slow node, and uses the same Prometheus. The function tests four
// situations:
//   - All pods of one workload wait for an image from a registry that refuses connections.
//   - On one of two nodes, pods of three workloads wait for images from the lab's registry.
//   - An agent is missing.
//   - Only one node has an agent. On this node, pods of three workloads wait for images from the lab's registry.
func failures(ctx context.Context, b *bench.Bench, v *Verdict, client prometheus.Client) error {
	const waiting = 3 // minimum number of failing pulls that the alert requires
	pod := func(image string) corev1.PodSpec {
		return corev1.PodSpec{Containers: []corev1.Container{{Name: mainName, Image: image}}}
	}
	if _, err := b.CreateDeployment(ctx, "one-workload", waiting, pod(refusedAddress+"/missing:1")); err != nil {
		return err
	}
	for i := range waiting {
		name := fmt.Sprintf("outage-%d", i+1)
		image, err := b.Image(ctx, name, 1<<10)
		if err != nil {
			return err
		}
		if err := b.Break(ctx, name, registry.Rule{Status: 500}); err != nil {
			return err
		}
		if err := b.CreatePod(ctx, name, pod(image)); err != nil {
			return err
		}
	}
	if err := requireResult(ctx, b, v, client, "registry that fails on one node", failingAlert("warning")); err != nil {
		return err
	}
	// Wait until the pulls from the registry at refusedAddress fail. Before these pulls fail, the absence of an alert
	// would not prove that the rule is correct.
	one := fmt.Sprintf(`sum(podlapse_image_pulls_failing{registry=%q, reason="connection_refused"}) >= %d`,
		refusedAddress, waiting)
	if err := requireResult(ctx, b, v, client, "one bad workload", one); err != nil {
		return err
	}
	if err := sleep(ctx, alertPatience); err != nil { // a wrong alert would fire within alertPatience
		return err
	}
	v.Compared++
	others, err := client.Query(ctx,
		fmt.Sprintf(`last_over_time(ALERTS{alertname=%q, registry=%q}[10m])`, registryFailing, refusedAddress))
	if err != nil {
		return err
	}
	for _, alert := range others {
		v.Problem("one bad workload: %s was %s: %v", registryFailing, alert.Labels["alertstate"], alert.Labels)
	}
	return lastAgent(ctx, b, v, client)
}

// failingAlert returns a Prometheus query. The query has a result if the alert PodlapseRegistryFailing fires for the
// lab's registry with the given severity.
func failingAlert(severity string) string {
	return fmt.Sprintf(`ALERTS{alertname=%q, alertstate="firing", severity=%q, registry=%q}`, registryFailing,
		severity, layout.Address(layout.RegistryPort))
}

// lastAgent stops the extra agent, so only the real node has an agent. On the real node, pulls still fail. Before the
// stop, PodlapseRegistryFailing must not be critical. After the stop, the alert must be critical.
func lastAgent(ctx context.Context, b *bench.Bench, v *Verdict, client prometheus.Client) error {
	early, err := client.Query(ctx, fmt.Sprintf(`last_over_time(ALERTS{alertname=%q, severity="critical"}[10m])`,
		registryFailing))
	if err != nil {
		return err
	}
	v.Compared++
	for _, alert := range early {
		v.Problem("registry that fails on one of two nodes: %s must not be critical, but was %s: %v", registryFailing,
			alert.Labels["alertstate"], alert.Labels)
	}
	if err := b.Node.StopExtraAgents(); err != nil {
		return err
	}
	gone := fmt.Sprintf(`ALERTS{alertname=%q, alertstate="firing", severity="warning", node=%q}`, agentDown, otherNode)
	return errors.Join(requireResult(ctx, b, v, client, "agent gone", gone),
		requireResult(ctx, b, v, client, "registry outage in a cluster with one node", failingAlert("critical")),
		b.ResetFaults(ctx))
}

// requireResult waits until a query has a result. If the query has no result in time, requireResult adds a problem to
// the verdict.
func requireResult(
	ctx context.Context, b *bench.Bench, v *Verdict, client prometheus.Client, what, query string,
) error {
	v.Compared++
	err := b.Node.Report.Wait(ctx, what, alertPatience+40*time.Second, alertInterval, func(ctx context.Context) error {
		samples, err := client.Query(ctx, query)
		if err == nil && len(samples) == 0 {
			err = fmt.Errorf("the Prometheus query %s has no result", query)
		}
		return err
	})
	if ctx.Err() != nil {
		return err
	}
	if err != nil {
		v.Problem("%s: %s: %v", what, query, err)
	}
	return nil
}
