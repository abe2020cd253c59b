package scenario

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/lab/internal/bench"
)

// homeToken starts a pod with a service account. homeToken returns a token that names the node, like the token that the
// kubelet mounts into the pod.
func homeToken(ctx context.Context, b *bench.Bench, account, pod string, volumes ...corev1.Volume) (string, error) {
	err := b.CreatePod(ctx, pod, corev1.PodSpec{
		ServiceAccountName: account, Containers: []corev1.Container{{Name: mainName, Image: b.BaseImage}},
		Volumes: volumes,
	})
	if err != nil {
		return "", err
	}
	if err := b.AwaitReady(ctx, pod, startLimit); err != nil {
		return "", err
	}
	return b.Token(ctx, account, pod)
}
