// Package watchproxy stands between an agent and the API server and does to the pod watch what a broken network, proxy or watch cache
// would: it holds events back, or loses them. All else passes as it is.
package watchproxy
