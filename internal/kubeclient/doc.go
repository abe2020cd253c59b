// Package kubeclient connects the agent to the API server. It has the configuration, clients for core/v1, requests with
// time limits, and limits on the memory for a response. It counts requests, and reads the API server's clock from
// responses.
//
// cmd/agent creates the clients, gives them to the sources and to other parts, and runs Clock.
package kubeclient
