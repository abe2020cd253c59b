// Package annotate writes annotations to the pods that request them. A pod requests an annotation with another
// annotation. The annotation podlapse.dev/startup shows how long each cause delayed the pod's start-up. The annotation
// "timestamp" contains the time of the write, like the annotation of pod-time-controller.
//
// The package keeps no state across a restart. The pod's object shows the requested and the existing annotations, so
// the agent does not write existing annotations again. Every write contains the latest resource version of the pod that
// the agent has seen. If the pod's object already has a newer resource version, the API server rejects the write.
//
// Other goroutines call Seen, Gone and Changed, which never block. The goroutine of Run sends requests to the API
// server.
package annotate
