package node

import (
	"context"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podlapse/podlapse/lab/internal/kube"
)

// processRole is the name of the role for agents that run as processes. For agents in containers, the manifests contain
// another role.
const processRole = "podlapse-lab-agent"

// grantAgent allows agents that run as processes to list and watch pods and Events. The manifests grant the same
// permissions to agents in containers.
func grantAgent(ctx context.Context, client *kube.Client) error {
	const path = "/apis/rbac.authorization.k8s.io/v1/"
	role := rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: processRole},
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"pods", "events"}, Verbs: []string{"list", "watch"}},
		},
	}
	binding := rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: processRole},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: processRole},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: AgentName}},
	}
	if err := client.Create(ctx, path+"clusterroles", role); err != nil && !kube.IsConflict(err) {
		return fmt.Errorf("create the agent's role: %w", err)
	}
	if err := client.Create(ctx, path+"clusterrolebindings", binding); err != nil && !kube.IsConflict(err) {
		return fmt.Errorf("bind the agent's role: %w", err)
	}
	return nil
}
