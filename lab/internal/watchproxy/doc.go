// Package watchproxy is a proxy between an agent and the API server. The proxy delays or drops events of the pod watch,
// like a broken network, proxy or watch cache. The proxy forwards everything else unchanged.
package watchproxy
