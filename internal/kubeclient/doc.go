// Package kubeclient is how the agent speaks to the API server: its configuration, clients for
// core/v1, requests with time limits, and limits on what a response may take in memory. It counts
// requests, and reads the API server's clock from responses.
//
// cmd/agent creates the clients, gives them to the sources and to other parts, and runs Clock.
package kubeclient
