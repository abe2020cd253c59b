// Package agents finds the agents of a cluster and reaches them through the API server. The command
// line calls it; it runs on the caller's goroutine. It queries pods with plain requests, because
// client-go's typed clients would cost every agent memory that it never uses.
//
// Agents are reached through the API server's proxy to pods (get of pods/proxy), not through a
// forwarded port: a proxied request is one request on the existing connection, needs no second protocol in the program,
// and requires only the verb get. The proxy does not pass on the user's identity, so an agent that requires tokens or
// passwords must be reached directly.
package agents
