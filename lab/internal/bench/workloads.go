package bench

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// WorkloadKind is a kind of object that creates pods.
type WorkloadKind string

// The kinds of objects that CreateWorkload creates. For Deployments, use CreateDeployment.
const (
	StatefulSet WorkloadKind = "StatefulSet"
	DaemonSet   WorkloadKind = "DaemonSet"
	Job         WorkloadKind = "Job"
	CronJob     WorkloadKind = "CronJob" // the CronJob creates a Job only at midnight on February 29
)

// CreateWorkload creates an object that creates one pod on the node. The pod has the label "app", whose value is the
// object's name.
func (b *Bench) CreateWorkload(ctx context.Context, kind WorkloadKind, name string, spec corev1.PodSpec) error {
	labels := map[string]string{"app": name}
	meta, selector := metav1.ObjectMeta{Name: name}, &metav1.LabelSelector{MatchLabels: labels}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: spec}
	replicas := int32(1)
	var group, plural string
	var object any
	switch kind {
	case StatefulSet:
		group, plural = "apps", "statefulsets"
		object = appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Replicas: &replicas,
			Selector: selector, ServiceName: name, Template: template}}
	case DaemonSet:
		group, plural = "apps", "daemonsets"
		object = appsv1.DaemonSet{ObjectMeta: meta, Spec: appsv1.DaemonSetSpec{Selector: selector, Template: template}}
	case Job:
		group, plural = "batch", "jobs"
		object = batchv1.Job{ObjectMeta: meta, Spec: batchv1.JobSpec{Template: template}}
	case CronJob:
		group, plural = "batch", "cronjobs"
		object = batchv1.CronJob{ObjectMeta: meta, Spec: batchv1.CronJobSpec{Schedule: "0 0 29 2 *",
			JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: template}}}}
	default:
		return fmt.Errorf("create workload %s: unknown kind %q", name, kind)
	}
	path := "/apis/" + group + "/v1/namespaces/" + b.Namespace + "/" + plural
	if err := b.Kube.Create(ctx, path, object); err != nil {
		return fmt.Errorf("create %s %s: %w", kind, name, err)
	}
	return nil
}
