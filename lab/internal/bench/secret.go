package bench

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CreateSecret creates a Secret that pods can mount.
func (b *Bench) CreateSecret(ctx context.Context, name string) error {
	secret := corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, StringData: map[string]string{"key": "value"}}
	if err := b.Kube.Create(ctx, "/api/v1/namespaces/"+b.Namespace+"/secrets", secret); err != nil {
		return fmt.Errorf("create secret: %w", err)
	}
	return nil
}

// SecretVolume returns a volume with the content of a Secret. The kubelet cannot mount the volume until the Secret
// exists.
func SecretVolume(secret string) corev1.Volume {
	return corev1.Volume{Name: "secret", VolumeSource: corev1.VolumeSource{
		Secret: &corev1.SecretVolumeSource{SecretName: secret}}}
}
