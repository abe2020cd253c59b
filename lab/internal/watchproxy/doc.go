// Package watchproxy is a proxy between an agent and the API server. The proxy delays or drops events of the pod watch,
// as a faulty network, proxy or watch cache does. The proxy forwards all other data unchanged.
package watchproxy
