// Package monitoring generates the Grafana dashboard in manifests/monitoring from a table of panels. The package's
// tests check that the dashboard, the Prometheus rules, the runbooks and the agent's metrics are consistent.
package monitoring
