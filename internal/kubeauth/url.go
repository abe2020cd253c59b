package kubeauth

// prefix distinguishes the agent's paths from the API server's own of the same name: ClusterRole
// system:discovery lets every account in a cluster get /api/*, and others /apis/*, /healthz and
// more.
const prefix = "/podlapse"

// nonResourceURLs returns the names of an agent's path in RBAC; permission for one of them is
// enough. Metrics are also /metrics, as everywhere, so that the role of a Prometheus for other
// targets works here. With permission only for /podlapse/metrics, a user can read no other program
// of the cluster: the API server's own metrics are /metrics, too.
func nonResourceURLs(path string) []string {
	if path == "/metrics" {
		return []string{path, prefix + path}
	}
	return []string{prefix + path}
}
