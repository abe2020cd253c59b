// Package probe regularly tests the services that pods on this node depend on: DNS names, ports, HTTP servers,
// registries, the container runtime and the API server. The package reports the duration of each stage and the result
// of each attempt to a Recorder. The package contacts only the targets in the configuration and, if configured, the
// registries that the node's pods pull from. The package uses no proxies, cookies or credentials, and follows no
// redirects to other hosts.
//
// cmd/agent creates a Runner only if a configuration exists. Each probe runs on its own goroutine.
package probe
