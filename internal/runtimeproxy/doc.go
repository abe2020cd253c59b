// Package runtimeproxy runs between the agent and the container runtime, in its own container. The package connects to
// the runtime's socket, which gives root access to the node. The package creates a second socket for the agent. On this
// second socket, the package serves only the calls that package cri allows. The package also checks the arguments of
// each allowed call. Package cri allows only the calls that the agent makes. If package cri does not allow a call,
// package runtimeproxy refuses the call, and the runtime never receives it.
//
// The caller runs a Proxy on one goroutine. The Proxy stores no data from the runtime. For each call, the package
// forwards one request and then the messages of the response in order. Package cri decodes each request and creates a
// new request with only the checked fields. The runtime receives only the new request. The package opens no network
// connections and reads no files.
package runtimeproxy
