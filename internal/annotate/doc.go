// Package annotate writes annotations to pods that request them by an annotation: where the time of
// their start-up went, and when the agent wrote the annotation, like pod-time-controller.
//
// Each state of a pod's object from the pod watch shows what the pod requests and what it has, so
// nothing must be remembered across a restart: existing annotations are not written again. Every
// write names the version of the object on which it is based, and the API server rejects a write
// based on an old version.
//
// Other goroutines call Seen, Gone and Changed, which never block. The goroutine in Run sends
// requests to the API server.
package annotate
