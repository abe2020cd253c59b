package bench

import (
	"context"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/podlapse/podlapse/lab/internal/node"
)

// GrantAgent gives the agent additional permissions in the whole cluster until the bench's namespace is deleted.
func (b *Bench) GrantAgent(ctx context.Context, rules ...rbacv1.PolicyRule) error {
	meta, err := b.clusterMeta(ctx, "more")
	if err != nil {
		return err
	}
	if err := b.Kube.Create(ctx, rbacPath+"clusterroles",
		rbacv1.ClusterRole{ObjectMeta: meta, Rules: rules}); err != nil {
		return fmt.Errorf("create a role for the agent: %w", err)
	}
	return b.bind(ctx, "agent", meta.Name,
		rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: node.AgentName})
}
