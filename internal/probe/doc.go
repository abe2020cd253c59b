// Package probe regularly tests the services that pods on this node depend on. The tests cover DNS names, ports, HTTP
// servers, registries, the container runtime and the API server. For each attempt, the package reports the result and
// the duration of each stage to a Recorder. The package contacts only the targets in the configuration and, if
// configured, the registries that the node's pods pull from. The package uses no proxies, cookies or credentials, and
// follows no redirects to other hosts.
//
// The agent creates a Runner only if the flag --probes-file is set. Each probe runs on its own goroutine.
package probe
