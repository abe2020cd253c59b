// Package runtimeproxy stands between the agent and the container runtime, in a container of its own. It holds the
// runtime's socket, which is as good as root on the node, and serves on a socket of its own the calls that the agent
// makes: the list of package cri, the arguments included. Every other call is refused before it reaches the runtime.
//
// A Proxy is run by the caller on one goroutine. It keeps no state of the runtime: it forwards one request, as cri
// encodes it again, and the messages of the answer as they come. It opens no network connection and reads no file.
package runtimeproxy
