// Package agents finds the agents of a cluster and reaches them through the API server. The command line calls this
// package on its own goroutines. The package queries pods with plain requests, because client-go's typed clients would
// cost every agent memory that the agent never uses.
//
// There are two ways to an agent. The API server's proxy to pods needs one request on an existing connection and
// requires only the verb get of pods/proxy. A port-forward also reaches agents that accept only loopback clients, and
// pods that the API server cannot reach over the network. The first request to an agent decides between the ways.
// Neither way passes on the user's identity, so that a user must query an agent that requires tokens or passwords
// directly.
package agents
