// Package monitoring generates the Grafana dashboard in manifests/monitoring from a table of panels. Its tests check
// that the dashboard, the Prometheus rules and the runbooks match each other and the agent's metrics.
package monitoring
