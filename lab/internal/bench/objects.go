package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podlapse/podlapse/lab/internal/layout"
)

// CreateConfigMap creates a ConfigMap with one key.
func (b *Bench) CreateConfigMap(ctx context.Context, name string) error {
	object := corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"key": "value"}}
	if err := b.Kube.Create(ctx, "/api/v1/namespaces/"+b.Namespace+"/configmaps", object); err != nil {
		return fmt.Errorf("create ConfigMap: %w", err)
	}
	return nil
}

// ConfigMapVolume returns a volume with the content of a ConfigMap. The kubelet cannot mount the volume until the
// ConfigMap exists.
func ConfigMapVolume(name string) corev1.Volume {
	return corev1.Volume{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: name}}}}
}

// ClaimVolume returns a volume for the named PersistentVolumeClaim.
func ClaimVolume(claim string) corev1.Volume {
	return corev1.Volume{Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}}
}

// CreateClaim creates a PersistentVolumeClaim and the PersistentVolume for the claim. The volume is a directory on the
// node.
func (b *Bench) CreateClaim(ctx context.Context, name string) error {
	const class = "podlapse-lab"
	if err := b.createVolume(ctx, name, class); err != nil {
		return err
	}
	return b.createClaim(ctx, name, class, b.volume(name))
}

// CreateLateClaim creates a PersistentVolumeClaim whose StorageClass delays the binding of the claim. Kubernetes binds
// the claim only after the scheduler selects a node for a pod that uses the claim.
func (b *Bench) CreateLateClaim(ctx context.Context, name string) error {
	class := b.volume(name)
	document := fmt.Sprintf("{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: %s}, "+
		"provisioner: podlapse.example/lab, volumeBindingMode: WaitForFirstConsumer}", class)
	if err := b.ApplyOwned(ctx, []byte(document)); err != nil {
		return err
	}
	return b.createClaim(ctx, name, class, "")
}

// Provision creates the PersistentVolume for a claim that CreateLateClaim created. In a real cluster, a provisioner
// creates this volume.
func (b *Bench) Provision(ctx context.Context, name string) error {
	return b.createVolume(ctx, name, b.volume(name))
}

func (b *Bench) volume(name string) string { return b.Namespace + "-" + name }

func (b *Bench) createVolume(ctx context.Context, name, class string) error {
	document := fmt.Sprintf(
		`{apiVersion: v1, kind: PersistentVolume, metadata: {name: %s}, spec: {capacity: {storage: 1Mi},
accessModes: [ReadWriteOnce], storageClassName: %s, persistentVolumeReclaimPolicy: Retain,
claimRef: {namespace: %s, name: %s}, hostPath: {path: %s, type: DirectoryOrCreate}}}`,
		b.volume(name),
		class,
		b.Namespace,
		name,
		b.Node.In("volumes", b.volume(name)),
	)
	return b.ApplyOwned(ctx, []byte(document))
}

func (b *Bench) createClaim(ctx context.Context, name, class, volume string) error {
	claim := corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			StorageClassName: &class, VolumeName: volume,
			Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Mi")},
			}},
	}
	if err := b.Kube.Create(ctx, "/api/v1/namespaces/"+b.Namespace+"/persistentvolumeclaims", claim); err != nil {
		return fmt.Errorf("create PersistentVolumeClaim: %w", err)
	}
	return nil
}

// FileVolume returns a hostPath volume that mounts one file of the node. The kubelet cannot mount the volume until
// MakeFile creates the file.
func (b *Bench) FileVolume(name string) corev1.Volume {
	kind := corev1.HostPathFile
	return corev1.Volume{Name: "file", VolumeSource: corev1.VolumeSource{
		HostPath: &corev1.HostPathVolumeSource{Path: b.file(name), Type: &kind}}}
}

// MakeFile creates the file that a FileVolume requires.
func (b *Bench) MakeFile(name string) error {
	path := b.file(name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o644)); err != nil {
		return fmt.Errorf("create the file of a volume: %w", err)
	}
	return nil
}

func (b *Bench) file(name string) string { return b.Node.In("volumes", b.volume(name), "file") }

const runtimeClasses = "/apis/node.k8s.io/v1/runtimeclasses"

// RuntimeClass returns the full name of a RuntimeClass of this bench.
func (b *Bench) RuntimeClass(name string) string { return b.Namespace + "-" + name }

// CreateRuntimeClass creates a RuntimeClass for a runtime handler. The runtime does not need to support the handler.
// Kubernetes deletes the RuntimeClass together with the bench's namespace.
func (b *Bench) CreateRuntimeClass(ctx context.Context, name, handler string) error {
	return b.ApplyOwned(
		ctx,
		[]byte(fmt.Sprintf("{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: %s}, handler: %s}",
			b.RuntimeClass(name), handler)),
	)
}

// DeleteRuntimeClass deletes a RuntimeClass of the bench.
func (b *Bench) DeleteRuntimeClass(ctx context.Context, name string) error {
	return b.Kube.Delete(ctx, runtimeClasses+"/"+b.RuntimeClass(name))
}

// OfferResource adds an extended resource to the lab's node, or removes it. Only this bench uses the resource. A label
// would not be suitable instead: kubelets before version 1.35 can reject a pod because they have not yet observed that
// the node got the pod's label.
func (b *Bench) OfferResource(ctx context.Context, name string, offered bool) error {
	var amount any
	if offered {
		amount = "1"
	}
	resources := map[string]any{string(b.NodeResource(name)): amount}
	change := map[string]any{"status": map[string]any{"capacity": resources, "allocatable": resources}}
	if err := b.Kube.Merge(ctx, "/api/v1/nodes/"+layout.NodeName+"/status", change); err != nil {
		return fmt.Errorf("change the resources of the node: %w", err)
	}
	return nil
}

// NodeResource returns the name of the extended resource that OfferResource adds.
func (b *Bench) NodeResource(name string) corev1.ResourceName {
	return corev1.ResourceName("podlapse-lab/" + b.Namespace + "-" + name)
}

// Demand makes the first container of a pod need one unit of a resource.
func Demand(spec *corev1.PodSpec, name corev1.ResourceName) {
	of := &spec.Containers[0].Resources
	if of.Limits == nil {
		of.Limits = corev1.ResourceList{}
	}
	of.Limits[name] = resource.MustParse("1") // the API server sets an equal request
}
