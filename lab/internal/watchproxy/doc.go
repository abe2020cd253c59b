// Package watchproxy is a proxy between an agent and the API server. As a broken network, proxy or watch cache does, it
// delays or drops events of the pod watch. It forwards everything else unchanged.
package watchproxy
