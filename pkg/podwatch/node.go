package podwatch

import "k8s.io/client-go/rest"

// AsNode is the configuration with which requests are made in the name of a node. Kubernetes 1.36 and newer let a
// pod's service account do so for the node on which that pod runs and no other, and only for the verbs and
// resources that RBAC names (constrained impersonation, mode associated-node); the Node authorizer then shows
// that node's pods alone. It has to be the user name by itself: with groups it would be another kind of
// impersonation.
func AsNode(config *rest.Config, node string) *rest.Config {
	config = rest.CopyConfig(config)
	config.Impersonate = rest.ImpersonationConfig{UserName: "system:node:" + node}
	return config
}
