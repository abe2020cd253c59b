package scenario

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/lab/internal/bench"
)

// networkFailure creates a pod while the network plugin fails, and repairs the plugin after some seconds. Containerd
// keeps no data about failed sandboxes. So an agent that reads only containerd's data would report the volumes as the
// cause of the delay.
func networkFailure(ctx context.Context, b *bench.Bench, v *Verdict) error {
	const (
		broken = 4 * time.Second
		// firstTry is the longest accepted time of the first attempt to create the sandbox. This time includes the
		// removal of the failed sandbox. No agent can separate this time from the phase "volumes".
		firstTry = time.Second
	)
	if err := b.BreakNetwork("the lab has no address left"); err != nil {
		return err
	}
	spec := corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: b.BaseImage}}}
	if err := b.CreatePod(ctx, "pod", spec); err != nil {
		return err
	}
	select {
	case <-time.After(broken):
	case <-ctx.Done():
		return fmt.Errorf("wait while the network is broken: %w", ctx.Err())
	}
	if err := b.ResetFaults(ctx); err != nil {
		return err
	}
	if err := b.AwaitReady(ctx, "pod", 2*time.Minute); err != nil {
		return err
	}
	timeline, err := b.AwaitSettled(ctx, "pod")
	if err != nil {
		return err
	}
	network, err := b.NetworkTruth("pod")
	if err != nil {
		return err
	}
	if network.Length() < broken {
		v.Problem("the network plugin did not fail: the scenario is not conclusive")
	}
	v.Phase(timeline, "network", "", broken, network.Length(), firstTry)
	volumes, _, err := timeline.In("volumes", "")
	if err != nil {
		return err
	}
	v.Compare("volumes", 0, 0, volumes, true, firstTry)
	v.Contract(timeline)
	return nil
}
