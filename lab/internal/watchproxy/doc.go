// Package watchproxy is a proxy between an agent and the API server. Like a broken network, proxy or watch cache, it
// delays or drops events of the pod watch. It forwards everything else unchanged.
package watchproxy
