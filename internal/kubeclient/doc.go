// Package kubeclient connects the agent to the API server. The package contains the configuration, the clients for
// core/v1, and limits on the time and memory of a response. The package also counts requests and reads the API
// server's clock from responses.
//
// cmd/agent creates the clients, passes them to the sources and to other parts, and runs Clock.
package kubeclient
