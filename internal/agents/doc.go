// Package agents finds the agents of a cluster and reaches them through the API server: for the
// command line, on whoever's goroutine calls. It asks for pods with plain requests, because the
// ready-made clients would cost every agent memory that it never uses.
//
// Agents are reached through the API server's proxy to pods (get of pods/proxy), not through a
// forwarded port: a proxied request is one request, goes on the connection that is there, needs no
// second protocol in the program, and can be granted as get. What the proxy does not do is to hand
// on who asks, so that an agent that wants tokens or passwords has to be reached directly.
package agents
