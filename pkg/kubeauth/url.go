package kubeauth

// prefix keeps the agent's addresses apart from the API server's own of the same name: ClusterRole system:discovery lets
// every account in a cluster get /api/*, and others /apis/*, /healthz and more.
const prefix = "/podlapse"

// nonResourceURL is what RBAC knows a path of the agent as. Metrics are /metrics everywhere, so that the role that a
// Prometheus has for other targets is good for this one.
func nonResourceURL(path string) string {
	if path == "/metrics" {
		return path
	}
	return prefix + path
}
