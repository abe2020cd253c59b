package bench

import (
	"context"
	"errors"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// CreateAccount creates a ServiceAccount with the permissions of the given rules. The permissions are cluster-wide.
func (b *Bench) CreateAccount(ctx context.Context, name string, rules ...rbacv1.PolicyRule) error {
	account := corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := b.Kube.Create(ctx, "/api/v1/namespaces/"+b.Namespace+"/serviceaccounts", account); err != nil {
		return fmt.Errorf("create service account: %w", err)
	}
	if len(rules) == 0 {
		return nil
	}
	meta, err := b.clusterMeta(ctx, name)
	if err != nil {
		return err
	}
	if err := b.Kube.Create(ctx, rbacPath+"clusterroles",
		rbacv1.ClusterRole{ObjectMeta: meta, Rules: rules}); err != nil {
		return fmt.Errorf("create the role of service account %q: %w", name, err)
	}
	return b.BindAccount(ctx, name, meta.Name)
}

const rbacPath = "/apis/rbac.authorization.k8s.io/v1/"

// BindAccount binds a service account of the bench to a ClusterRole.
func (b *Bench) BindAccount(ctx context.Context, account, role string) error {
	return b.bind(ctx, account, role, rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: b.Namespace,
		Name: account})
}

func (b *Bench) bind(ctx context.Context, account, role string, subject rbacv1.Subject) error {
	meta, err := b.clusterMeta(ctx, account+"-"+role)
	if err != nil {
		return err
	}
	binding := rbacv1.ClusterRoleBinding{
		ObjectMeta: meta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{subject},
	}
	if err := b.Kube.Create(ctx, rbacPath+"clusterrolebindings", binding); err != nil {
		return fmt.Errorf("bind role %q to %q: %w", role, account, err)
	}
	return nil
}

// ApplyOwned applies a cluster-scoped object, or an object in another namespace. When the bench's namespace is deleted,
// Kubernetes also deletes the applied object.
func (b *Bench) ApplyOwned(ctx context.Context, document []byte) error {
	meta, err := b.clusterMeta(ctx, "")
	if err != nil {
		return err
	}
	var object map[string]any
	if err := yaml.Unmarshal(document, &object); err != nil {
		return fmt.Errorf("parse the manifest of an object: %w", err)
	}
	metadata, _ := object["metadata"].(map[string]any)
	if metadata == nil {
		return errors.New("apply an object: the field \"metadata\" is missing")
	}
	metadata["ownerReferences"] = meta.OwnerReferences
	owned, err := yaml.Marshal(object)
	if err != nil {
		return fmt.Errorf("encode an object: %w", err)
	}
	return b.Kube.Apply(ctx, "podlapse-lab", owned, false)
}

// clusterMeta returns the metadata for a cluster-scoped object. The bench's namespace is the object's owner, so
// Kubernetes deletes the object together with the namespace.
func (b *Bench) clusterMeta(ctx context.Context, name string) (metav1.ObjectMeta, error) {
	var namespace corev1.Namespace
	if err := b.Kube.Get(ctx, "/api/v1/namespaces/"+b.Namespace, &namespace); err != nil {
		return metav1.ObjectMeta{}, fmt.Errorf("get the namespace: %w", err)
	}
	return metav1.ObjectMeta{Name: b.Namespace + ":" + name, OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "v1", Kind: "Namespace", Name: namespace.Name, UID: namespace.UID},
	}}, nil
}

// Token requests a token that is bound to a pod, like the token that the kubelet mounts in the pod. The token belongs
// to the pod's service account, names the pod and its node, and expires with the pod. If the name of the pod is empty,
// Token requests a token of the given service account. This token names neither a pod nor a node.
func (b *Bench) Token(ctx context.Context, account, pod string) (string, error) {
	if pod == "" {
		return b.AccountToken(ctx, b.Namespace, account)
	}
	var object corev1.Pod
	if err := b.Kube.Get(ctx, b.PodPath(pod), &object); err != nil {
		return "", fmt.Errorf("get the pod that the token names: %w", err)
	}
	return b.TokenOf(ctx, object)
}

// TokenOf requests a token that is bound to the pod, like the token that the kubelet mounts in the pod. The pod can be
// in any namespace.
func (b *Bench) TokenOf(ctx context.Context, pod corev1.Pod) (string, error) {
	request := authenticationv1.TokenRequest{}
	request.Spec.BoundObjectRef = &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: pod.Name,
		UID: pod.UID}
	return b.requestToken(ctx, pod.Namespace, pod.Spec.ServiceAccountName, request)
}

// AccountToken requests a token of a service account in any namespace. The token does not name a pod.
func (b *Bench) AccountToken(ctx context.Context, namespace, account string) (string, error) {
	return b.requestToken(ctx, namespace, account, authenticationv1.TokenRequest{})
}

func (b *Bench) requestToken(ctx context.Context, namespace, account string,
	request authenticationv1.TokenRequest) (string, error) {
	path := "/api/v1/namespaces/" + namespace + "/serviceaccounts/" + account + "/token"
	var created authenticationv1.TokenRequest
	if err := b.Kube.CreateInto(ctx, path, request, &created); err != nil {
		return "", fmt.Errorf("request a token: %w", err)
	}
	return created.Status.Token, nil
}
