package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podlapse/podlapse/lab/internal/kube"
)

// CreateDeployment creates a Deployment and returns the names of its pods.
func (b *Bench) CreateDeployment(ctx context.Context, name string, replicas int32,
	spec corev1.PodSpec) ([]string, error) {
	if err := b.RequestDeployment(ctx, name, replicas, spec); err != nil {
		return nil, err
	}
	var names []string
	err := b.Node.Report.Wait(ctx, "the pods of deployment "+name, 30*time.Second, 50*time.Millisecond,
		func(ctx context.Context) error {
			pods, err := b.Kube.Pods(ctx, b.Namespace)
			if err != nil {
				return err
			}
			if names = nil; len(pods) < int(replicas) {
				return fmt.Errorf("found %d of %d pods", len(pods), replicas)
			}
			for _, pod := range pods {
				names = append(names, pod.Name)
			}
			return nil
		})
	return names, err
}

// RequestDeployment creates a Deployment but does not wait for its pods.
func (b *Bench) RequestDeployment(ctx context.Context, name string, replicas int32, spec corev1.PodSpec) error {
	labels := map[string]string{"app": name}
	deployment := appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: spec},
		},
	}
	if err := b.Kube.Create(ctx, "/apis/apps/v1/namespaces/"+b.Namespace+"/deployments", deployment); err != nil {
		return fmt.Errorf("create deployment: %w", err)
	}
	return nil
}

// CreatePod creates a pod without an owner.
func (b *Bench) CreatePod(ctx context.Context, name string, spec corev1.PodSpec) error {
	return b.CreateAnnotatedPod(ctx, name, nil, spec)
}

// CreateAnnotatedPod is like CreatePod, but the pod has the given annotations.
func (b *Bench) CreateAnnotatedPod(ctx context.Context, name string, annotations map[string]string,
	spec corev1.PodSpec) error {
	return b.createPod(ctx, metav1.ObjectMeta{Name: name, Annotations: annotations}, spec)
}

// CreateLabelledPod is like CreatePod, but the pod has the given labels.
func (b *Bench) CreateLabelledPod(ctx context.Context, name string, labels map[string]string,
	spec corev1.PodSpec) error {
	return b.createPod(ctx, metav1.ObjectMeta{Name: name, Labels: labels}, spec)
}

func (b *Bench) createPod(ctx context.Context, meta metav1.ObjectMeta, spec corev1.PodSpec) error {
	pod := corev1.Pod{ObjectMeta: meta, Spec: spec}
	if err := b.Kube.Create(ctx, "/api/v1/namespaces/"+b.Namespace+"/pods", pod); err != nil {
		return fmt.Errorf("create pod: %w", err)
	}
	return nil
}

// DeletePod requests the deletion of a pod but does not wait until the pod is deleted.
func (b *Bench) DeletePod(ctx context.Context, pod string) error {
	if err := b.Kube.Delete(ctx, b.PodPath(pod)); err != nil {
		return fmt.Errorf("delete pod: %w", err)
	}
	return nil
}

// AwaitGone waits until the API server has no pod with the given name.
func (b *Bench) AwaitGone(ctx context.Context, name string) error {
	return b.Node.Report.Wait(ctx, "pod "+name+" to be gone", time.Minute, 200*time.Millisecond,
		func(ctx context.Context) error {
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

// PodPath returns the URL path of a pod in the Kubernetes API.
func (b *Bench) PodPath(pod string) string {
	return "/api/v1/namespaces/" + b.Namespace + "/pods/" + pod
}

// AwaitReady waits until the pod's status reports that the pod is ready.
func (b *Bench) AwaitReady(ctx context.Context, name string, limit time.Duration) error {
	return b.Node.Report.Wait(ctx, "pod "+name+" to be ready", limit, 200*time.Millisecond,
		func(ctx context.Context) error {
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

// AwaitRunning waits until the pod's status reports that the container is running.
func (b *Bench) AwaitRunning(ctx context.Context, name, container string, limit time.Duration) error {
	return b.Node.Report.Wait(ctx, "container "+container+" of pod "+name+" to run", limit, 200*time.Millisecond,
		func(ctx context.Context) error {
			var pod corev1.Pod
			if err := b.Kube.Get(ctx, b.PodPath(name), &pod); err != nil {
				return err
			}
			for _, status := range pod.Status.ContainerStatuses {
				if status.Name == container && status.State.Running != nil {
					return nil
				}
			}
			return errors.New(describe(pod))
		})
}

// describe returns one line with the pod's phase and the first waiting container.
func describe(pod corev1.Pod) string {
	text := "the pod is " + string(pod.Status.Phase)
	statuses := append(append([]corev1.ContainerStatus(nil), pod.Status.InitContainerStatuses...),
		pod.Status.ContainerStatuses...)
	for _, status := range statuses {
		if waiting := status.State.Waiting; waiting != nil {
			return fmt.Sprintf("%s, container %s waits: %s %s", text, status.Name, waiting.Reason, waiting.Message)
		}
	}
	return text
}
