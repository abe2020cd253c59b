package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/kube"
)

// CreateDeployment creates a Deployment and returns the names of its pods.
func (b *Bench) CreateDeployment(ctx context.Context, name string, replicas int32, spec corev1.PodSpec) ([]string, error) {
	labels := map[string]string{"app": name}
	deployment := appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: spec},
		},
	}
	if err := b.Kube.Create(ctx, "/apis/apps/v1/namespaces/"+b.Namespace+"/deployments", deployment); err != nil {
		return nil, fmt.Errorf("create deployment: %w", err)
	}
	var names []string
	err := b.Node.Report.Wait(ctx, "the pods of deployment "+name, 30*time.Second, 50*time.Millisecond, func(ctx context.Context) error {
		pods, err := b.Kube.Pods(ctx, b.Namespace)
		if err != nil {
			return err
		}
		if names = nil; len(pods) < int(replicas) {
			return fmt.Errorf("%d of %d exist", len(pods), replicas)
		}
		for _, pod := range pods {
			names = append(names, pod.Name)
		}
		return nil
	})
	return names, err
}

// CreatePod creates a bare pod.
func (b *Bench) CreatePod(ctx context.Context, name string, spec corev1.PodSpec) error {
	return b.CreateAnnotatedPod(ctx, name, nil, spec)
}

// CreateAnnotatedPod is CreatePod with annotations.
func (b *Bench) CreateAnnotatedPod(ctx context.Context, name string, annotations map[string]string, spec corev1.PodSpec) error {
	return b.createPod(ctx, metav1.ObjectMeta{Name: name, Annotations: annotations}, spec)
}

// CreateLabelledPod is CreatePod with labels.
func (b *Bench) CreateLabelledPod(ctx context.Context, name string, labels map[string]string, spec corev1.PodSpec) error {
	return b.createPod(ctx, metav1.ObjectMeta{Name: name, Labels: labels}, spec)
}

func (b *Bench) createPod(ctx context.Context, meta metav1.ObjectMeta, spec corev1.PodSpec) error {
	pod := corev1.Pod{ObjectMeta: meta, Spec: spec}
	if err := b.Kube.Create(ctx, "/api/v1/namespaces/"+b.Namespace+"/pods", pod); err != nil {
		return fmt.Errorf("create pod: %w", err)
	}
	return nil
}

// DeletePod asks for the end of a pod and does not wait for it.
func (b *Bench) DeletePod(ctx context.Context, pod string) error {
	if err := b.Kube.Delete(ctx, b.PodPath(pod)); err != nil {
		return fmt.Errorf("delete pod: %w", err)
	}
	return nil
}

// AwaitGone waits until the API server has no pod of that name any more.
func (b *Bench) AwaitGone(ctx context.Context, name string) error {
	return b.Node.Report.Wait(ctx, "pod "+name+" to be gone", time.Minute, 200*time.Millisecond, func(ctx context.Context) error {
		var pod corev1.Pod
		err := b.Kube.Get(ctx, b.PodPath(name), &pod)
		if err == nil {
			return errors.New(describe(pod))
		}
		if kube.IsNotFound(err) {
			return nil
		}
		return err
	})
}

// PodPath is where the API server has a pod.
func (b *Bench) PodPath(pod string) string {
	return "/api/v1/namespaces/" + b.Namespace + "/pods/" + pod
}

// AwaitReady waits until the API server calls a pod ready.
func (b *Bench) AwaitReady(ctx context.Context, name string, limit time.Duration) error {
	return b.Node.Report.Wait(ctx, "pod "+name+" to be ready", limit, 200*time.Millisecond, func(ctx context.Context) error {
		var pod corev1.Pod
		if err := b.Kube.Get(ctx, b.PodPath(name), &pod); err != nil {
			return err
		}
		for _, condition := range pod.Status.Conditions {
			if condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue {
				return nil
			}
		}
		return errors.New(describe(pod))
	})
}

// describe says in one line what a pod is waiting for.
func describe(pod corev1.Pod) string {
	text := "it is " + string(pod.Status.Phase)
	statuses := append(append([]corev1.ContainerStatus(nil), pod.Status.InitContainerStatuses...), pod.Status.ContainerStatuses...)
	for _, status := range statuses {
		if waiting := status.State.Waiting; waiting != nil {
			return fmt.Sprintf("%s, container %s waits: %s %s", text, status.Name, waiting.Reason, waiting.Message)
		}
	}
	return text
}

// AwaitSettled waits until the agent has reported a pod's start-up and returns what it reported. The pod is
// ready, so the agent has seen all there is, but for Events that are late or lost: it waits 15 s for those.
func (b *Bench) AwaitSettled(ctx context.Context, name string) (agent.Timeline, error) {
	return awaitPrinted(ctx, b, "the agent to report pod "+name, func(r agent.Records) []agent.Timeline { return r.Timelines },
		func(t agent.Timeline) bool { return t.Name == name })
}

// AwaitEnd waits until the agent has reported the end of a pod and returns what it reported.
func (b *Bench) AwaitEnd(ctx context.Context, name string) (agent.End, error) {
	return awaitPrinted(ctx, b, "the agent to report the end of pod "+name, func(r agent.Records) []agent.End { return r.Ends },
		func(e agent.End) bool { return e.Name == name })
}

// awaitPrinted waits for the first record of a kind that is the one.
func awaitPrinted[R any](ctx context.Context, b *Bench, what string, of func(agent.Records) []R, is func(R) bool) (found R, err error) {
	err = b.Node.Report.Wait(ctx, what, 45*time.Second, 100*time.Millisecond, func(context.Context) error {
		records, err := b.Records()
		if err != nil {
			return err
		}
		all := of(records)
		i := slices.IndexFunc(all, is)
		if i < 0 {
			return errors.New("it has not printed that")
		}
		found = all[i]
		return nil
	})
	return found, err
}

// Records are what all agents so far printed about the bench's pods.
func (b *Bench) Records() (agent.Records, error) {
	output, err := b.Node.AgentOutput()
	if err != nil {
		return agent.Records{}, err
	}
	return agent.ReadRecords(output, b.Namespace)
}
