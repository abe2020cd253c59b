// Package probe checks, at intervals, what pods on this node depend on: names, ports, HTTP servers,
// registries, the container runtime, the API server. It reports to a Recorder how long each stage
// took, and where an attempt ended. It contacts only what the configuration lists and, if that is
// configured, the registries from which pods of the node pull. It uses no proxy, cookie or
// credential, and follows no redirect to another host.
//
// cmd/agent creates a Runner if there is a configuration; otherwise it does not use this package. Each probe runs on a
// goroutine of its own.
package probe
