// Package manifests renders the manifests of the agent. The agent can be installed with the kustomize base and
// components, or with the Helm chart. The package's tests check that the chart renders the same objects as kustomize.
// The tests also check that Kubernetes knows every field, and that the agent's pod has only the expected permissions.
package manifests
