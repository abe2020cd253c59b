package kubeauth

// prefix distinguishes the agent's paths from the API server's own of the same name: ClusterRole
// system:discovery lets every account in a cluster get /api/*, and others /apis/*, /healthz and
// more.
const prefix = "/podlapse"

// nonResourceURLs returns the names of an agent's path in RBAC; permission for one of them is
// enough. Metrics are also /metrics, as everywhere, so that the role of a Prometheus for other
// targets works here. A user with permission only for /podlapse/metrics cannot read the metrics of other programs in
// the cluster, such as the API server, which uses /metrics too.
func nonResourceURLs(path string) []string {
	if path == "/metrics" {
		return []string{path, prefix + path}
	}
	return []string{prefix + path}
}
