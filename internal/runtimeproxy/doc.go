// Package runtimeproxy runs between the agent and the container runtime, in a container of its own.
// It holds the runtime's socket, which gives root access to the node. On a socket of its own it
// serves only the calls that the agent makes: those listed in package cri, with checked arguments.
// It refuses every other call before it reaches the runtime.
//
// The caller runs a Proxy on one goroutine. The Proxy keeps no state of the runtime: it forwards
// one request, encoded again by cri, and the messages of the response as they arrive. It opens no
// network connection and reads no file.
package runtimeproxy
