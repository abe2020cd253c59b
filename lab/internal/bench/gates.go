package bench

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Each gate delays a pod until a scenario opens the gate.
const (
	SchedulingGate = "podlapse-lab/hold"
	ReadinessGate  = "podlapse-lab/approved"
)

// LiftSchedulingGate removes all scheduling gates from a pod, so that the scheduler can bind the pod.
func (b *Bench) LiftSchedulingGate(ctx context.Context, pod string) error {
	change := map[string]any{"spec": map[string]any{"schedulingGates": nil}}
	if err := b.Kube.Merge(ctx, b.PodPath(pod), change); err != nil {
		return fmt.Errorf("remove the scheduling gate: %w", err)
	}
	return nil
}

// PassReadinessGate sets the condition of a pod's readiness gate to true. The constant ReadinessGate contains the type
// of this condition.
func (b *Bench) PassReadinessGate(ctx context.Context, pod string) error {
	change := map[string]any{"status": map[string]any{"conditions": []corev1.PodCondition{{
		Type: ReadinessGate, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}}}
	if err := b.Kube.MergeLists(ctx, b.PodPath(pod)+"/status", change); err != nil {
		return fmt.Errorf("set the readiness gate to true: %w", err)
	}
	return nil
}
