// Package annotate writes annotations to the pods that request them. The request is also an annotation of the pod, for
// example podlapse.dev/annotate. The annotation podlapse.dev/startup shows how long each cause delayed the pod's
// start-up. The annotation "timestamp" contains the time of the write. The tool pod-time-controller writes the
// annotation "timestamp" with the same meaning.
//
// The package keeps no state across a restart. The pod's object shows which annotations the pod requests and which
// annotations exist. Therefore, the agent does not write existing annotations again. Every write contains the pod's
// resource version from the latest state that the agent has seen. If the pod's object already has a newer resource
// version, the API server rejects the write.
//
// Other goroutines call Seen, Gone and Changed, which never block. The goroutine that executes Run sends the requests
// to the API server.
package annotate
