package kube

import (
	"context"
	"fmt"
	"net/url"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podlapse/podlapse/lab/internal/progress"
)

// Usable returns nil if the namespace contains its default service account and the ConfigMap with the CA certificate.
// The controller manager creates these two objects in every namespace. If one of the objects is missing, the creation
// of a pod fails, or the pod needs a retry to start.
func (c *Client) Usable(ctx context.Context, namespace string) error {
	for _, path := range []string{"/serviceaccounts/default", "/configmaps/kube-root-ca.crt"} {
		if err := c.Get(ctx, "/api/v1/namespaces/"+namespace+path, nil); err != nil {
			return err
		}
	}
	return nil
}

// purposeLabel is the label with the purpose of a namespace.
const purposeLabel = "podlapse-lab/purpose"

// CreateNamespace creates a namespace and waits until pods can start in the namespace. If a namespace with this name is
// being deleted, CreateNamespace first waits until the namespace is gone.
func (c *Client) CreateNamespace(ctx context.Context, report *progress.Reporter, name, purpose string) error {
	namespace := corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name,
		Labels: map[string]string{purposeLabel: purpose}}}
	var earlier corev1.Namespace
	if err := c.Get(ctx, namespacePath(name), &earlier); err == nil && !earlier.DeletionTimestamp.IsZero() {
		if err := c.awaitDeletion(ctx, report, name); err != nil {
			return err
		}
	}
	if err := c.Create(ctx, "/api/v1/namespaces", namespace); err != nil {
		return fmt.Errorf("create namespace: %w", err)
	}
	return report.Wait(ctx, "the default service account of namespace "+name, time.Minute, 50*time.Millisecond,
		func(ctx context.Context) error { return c.Usable(ctx, name) })
}

func namespacePath(name string) string { return "/api/v1/namespaces/" + name }

// NamespacesFor returns the names of the namespaces with the given purpose, except namespaces that are being deleted.
func (c *Client) NamespacesFor(ctx context.Context, purpose string) ([]string, error) {
	var list corev1.NamespaceList
	if err := c.Get(ctx, "/api/v1/namespaces?labelSelector="+url.QueryEscape(purposeLabel+"="+purpose),
		&list); err != nil {
		return nil, fmt.Errorf("list namespaces: %w", err)
	}
	var names []string
	for _, namespace := range list.Items {
		if namespace.DeletionTimestamp.IsZero() {
			names = append(names, namespace.Name)
		}
	}
	return names, nil
}

// DeleteNamespace deletes a namespace if it exists, and waits until all objects of the namespace are deleted.
func (c *Client) DeleteNamespace(ctx context.Context, report *progress.Reporter, name string) error {
	if err := c.RequestNamespaceDeletion(ctx, report, name); err != nil {
		return err
	}
	return c.awaitDeletion(ctx, report, name)
}

// RequestNamespaceDeletion deletes the pods of a namespace and requests the deletion of the namespace if it exists. The
// namespace controller then waits 5 s (namespaceDeletionGracePeriod in Kubernetes). After this wait, the namespace
// controller deletes the remaining objects.
func (c *Client) RequestNamespaceDeletion(ctx context.Context, report *progress.Reporter, name string) error {
	if err := c.DeletePods(ctx, report, name); err != nil {
		return err
	}
	if err := c.Delete(ctx, namespacePath(name)); err != nil && !IsNotFound(err) && !IsConflict(err) {
		return fmt.Errorf("delete namespace: %w", err)
	}
	return nil
}

func (c *Client) awaitDeletion(ctx context.Context, report *progress.Reporter, name string) error {
	return report.Wait(ctx, "the deletion of namespace "+name, 90*time.Second, 100*time.Millisecond,
		func(ctx context.Context) error {
			var namespace corev1.Namespace
			err := c.Get(ctx, namespacePath(name), &namespace)
			if IsNotFound(err) {
				return nil
			}
			if err != nil {
				return err
			}
			return fmt.Errorf("the namespace still exists in the phase %q", namespace.Status.Phase)
		})
}

// DeletePods deletes all workloads and pods of a namespace and waits until all pods are deleted.
// RequestNamespaceDeletion calls DeletePods first to avoid a wait of the namespace controller. If the namespace still
// contains pods, this controller waits for half of the pods' grace period.
func (c *Client) DeletePods(ctx context.Context, report *progress.Reporter, name string) error {
	const cascade = "?propagationPolicy=Foreground"
	apps, batch := "/apis/apps/v1/namespaces/"+name+"/", "/apis/batch/v1/namespaces/"+name+"/"
	paths := []string{apps + "deployments" + cascade, apps + "statefulsets" + cascade, apps + "daemonsets" + cascade,
		batch + "cronjobs" + cascade, batch + "jobs" + cascade, "/api/v1/namespaces/" + name + "/pods"}
	return report.Wait(ctx, "the deletion of the pods of namespace "+name, time.Minute, 200*time.Millisecond,
		func(ctx context.Context) error {
			// Each attempt deletes the pods again. A workload can create new pods until the workload itself is deleted.
			for _, path := range paths {
				if err := c.Delete(ctx, path); err != nil {
					return fmt.Errorf("delete %s: %w", path, err)
				}
			}
			left, err := c.Pods(ctx, name)
			if err != nil || len(left) == 0 {
				return err
			}
			return fmt.Errorf("%d pods remain", len(left))
		})
}

// Pods returns the pods of a namespace.
func (c *Client) Pods(ctx context.Context, namespace string) ([]corev1.Pod, error) {
	var list corev1.PodList
	if err := c.Get(ctx, "/api/v1/namespaces/"+namespace+"/pods", &list); err != nil {
		return nil, fmt.Errorf("list pods: %w", err)
	}
	return list.Items, nil
}

// Events returns the Events of a namespace.
func (c *Client) Events(ctx context.Context, namespace string) ([]corev1.Event, error) {
	var list corev1.EventList
	if err := c.Get(ctx, "/api/v1/namespaces/"+namespace+"/events", &list); err != nil {
		return nil, fmt.Errorf("list events: %w", err)
	}
	return list.Items, nil
}
