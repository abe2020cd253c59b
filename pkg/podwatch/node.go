package podwatch

import "k8s.io/client-go/rest"

// AsNode returns the configuration for requests in the name of a node. Since Kubernetes 1.36, a
// pod's service account may impersonate only the node on which that pod runs, and only for the
// verbs and resources that RBAC allows (constrained impersonation, mode associated-node). The Node
// authorizer then shows that node's pods only. The configuration must set only the user name: with
// groups, it would be another kind of impersonation.
func AsNode(config *rest.Config, node string) *rest.Config {
	config = rest.CopyConfig(config)
	config.Impersonate = rest.ImpersonationConfig{UserName: "system:node:" + node}
	return config
}
