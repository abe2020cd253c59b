// Package manifests renders the two ways to install the agent: the kustomize base with components, and the Helm chart.
// The package's tests check that the chart renders the same objects as kustomize, that Kubernetes knows every field,
// and that the agent's pod has only the expected permissions.
package manifests
