// Package manifests renders the two ways to install the agent: the kustomize base with components, and the Helm chart.
// Its tests check that both give the same result, that Kubernetes knows every field, and what the agent's pod may do.
package manifests
