// Package agents finds the agents of a cluster and reaches them through the API server. The goroutines of the command
// line call this package. The package reads objects from the API server with plain HTTP requests. The command
// line and the agent are one program, so client-go's typed clients would increase the memory of every agent.
//
// The package can reach an agent in two ways: over the API server's proxy to pods, and over a port-forward. A query
// over the proxy is one request on the open connection to the API server, and requires only the verb "get" on
// pods/proxy. A port-forward also reaches agents that accept only loopback clients, and pods that the API server cannot
// reach over the network. The first request to an agent determines whether later requests use the proxy or a
// port-forward.
//
// The proxy and the port-forward do not forward the user's credentials. If an agent requires tokens or passwords, the
// user must query the agent directly.
package agents
