// Package annotate writes annotations to pods that request them with another annotation. One annotation shows where
// the time of the pod's start-up went. A second annotation contains the time of the write, like the annotation of
// pod-time-controller.
//
// The package keeps no state across a restart. Each state of a pod's object from the pod watch shows the requested
// and the existing annotations, and the agent does not write existing annotations again. Every write contains the
// version of the pod's object that the agent last saw. The API server rejects a write with an old version.
//
// Other goroutines call Seen, Gone and Changed, which never block. The goroutine in Run sends requests to the API
// server.
package annotate
