// Package manifests renders what installs the agent: the kustomize base with components, and the Helm chart. Its
// tests hold that both say the same, that Kubernetes understands every field, and what the agent's pod may do.
package manifests
