// Package probe asks, at intervals, what pods on this node depend on: names, ports, HTTP servers,
// registries, the container runtime, the API server. It tells a Recorder how long each stage took,
// and where an attempt ended. Only what the configuration lists is asked, and the registries that
// pods of the node were pulled from where it says so: no proxy, no cookie, no credential, no
// redirect to another host.
//
// cmd/agent makes a Runner if there is a configuration, and nothing of this package if there is none.
package probe
