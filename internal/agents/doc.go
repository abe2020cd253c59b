// Package agents finds the agents of a cluster and reaches them through the API server. Goroutines of the CLI commands
// call this package. The package reads objects from the API server with plain HTTP requests instead of client-go's
// typed clients. The typed clients would increase the memory use of every agent, because the CLI and the agent are one
// program.
//
// The package can reach an agent in two ways: over the API server's proxy to pods, and over a port-forward. A query
// over the proxy is one request on the open connection to the API server. For this request, the user needs only the
// verb "get" on pods/proxy. A port-forward also reaches agents that accept only loopback clients. In addition, a
// port-forward reaches pods that the API server cannot reach over the network. The first request to an agent
// determines whether later requests use the proxy or a port-forward.
//
// The proxy and the port-forward do not forward the user's credentials. If an agent requires tokens or passwords, the
// user must query the agent directly.
package agents
