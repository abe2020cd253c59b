package kubeauth

// prefix keeps the agent's addresses apart from the API server's own of the same name: ClusterRole
// system:discovery lets every account in a cluster get /api/*, and others /apis/*, /healthz and
// more.
const prefix = "/podlapse"

// nonResourceURLs are what RBAC knows a path of the agent as; one of them that may be read is
// enough. Metrics are also /metrics as everywhere, so that the role that a Prometheus has for other
// targets is good for this one. Who may get /podlapse/metrics alone reads no other program of the
// cluster: the API server's own metrics are /metrics, too.
func nonResourceURLs(path string) []string {
	if path == "/metrics" {
		return []string{path, prefix + path}
	}
	return []string{prefix + path}
}
