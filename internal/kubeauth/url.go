package kubeauth

// prefix distinguishes the agent's paths from the API server's own paths. Without the prefix, permissions for the API
// server would also apply to the agent. For example, ClusterRole system:discovery allows every account to get /api/*,
// /apis/*, /healthz and other paths.
const prefix = "/podlapse"

// nonResourceURLs returns the nonResourceURLs of an agent's path. Permission for one of the returned nonResourceURLs is
// sufficient. For the path /metrics, the result also contains the usual nonResourceURL /metrics, so that an existing
// role of Prometheus is valid for the agent. A user with permission only for /podlapse/metrics cannot read the metrics
// of other programs in the cluster, such as the API server.
func nonResourceURLs(path string) []string {
	if path == "/metrics" {
		return []string{path, prefix + path}
	}
	return []string{prefix + path}
}
