package kubeauth

// prefix distinguishes the agent's paths from the API server's own paths. Without the prefix, permissions for the API
// server would also apply to the agent. For example, ClusterRole system:discovery allows every account to get /api/*,
// /apis/*, /healthz and other paths.
const prefix = "/podlapse"

// nonResourceURLs returns the RBAC nonResourceURLs for a path of the agent. To read the path, a user needs permission
// for only one of these nonResourceURLs. For the agent's path /metrics, the results are /metrics and /podlapse/metrics.
// Prometheus usually has a role that permits /metrics, and this role also gives access to the agent's metrics. If a
// user has permission only for /podlapse/metrics, the user cannot read the metrics of other programs in the cluster,
// such as the API server.
func nonResourceURLs(path string) []string {
	if path == "/metrics" {
		return []string{path, prefix + path}
	}
	return []string{prefix + path}
}
