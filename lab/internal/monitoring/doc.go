// Package monitoring makes the Grafana dashboard in manifests/monitoring from a table of panels. Its tests hold the dashboard, the
// Prometheus rules and the runbooks against each other and against what the agent exposes.
package monitoring
