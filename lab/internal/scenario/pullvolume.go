package scenario

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/stack"
)

// imageVolume returns one case with an image volume, or no case if the stack does not support image volumes.
func (p *pullRun) imageVolume(ctx context.Context) ([]pullCase, error) {
	if !p.bench.Node.Stack.Has(stack.ImageVolumes) {
		return nil, nil
	}
	image, err := p.pushColdImage(ctx, "volume")
	c := plainCase("volume", p.bench.BaseImage, agent.Present)
	const name = "data"
	c.spec.Volumes = []corev1.Volume{{Name: name,
		VolumeSource: corev1.VolumeSource{Image: &corev1.ImageVolumeSource{Reference: image}}}}
	c.spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: name, MountPath: "/data"}}
	c.wants = append(c.wants, wantedPull{container: "image:" + image, image: image, outcome: agent.Downloaded})
	return []pullCase{c}, err
}
