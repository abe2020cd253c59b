// Package nodestart is the pure core for the start-up of the node itself. The package converts observations about the
// machine, the Node object, the kubelet's Events and the node's pods into a timeline. The phases of the timeline cover
// the time from the boot of the machine until the first workload pod is ready, without gaps.
//
// The package does no I/O, starts no goroutine and reads no clock. An Evidence belongs to one goroutine.
//
// # Words
//
//	boot         one run of the machine's kernel, identified by its boot ID
//	workload     a pod that belongs neither to a DaemonSet nor to the node itself (static pods)
//	start-up     the time from the boot until the first workload pod is ready
//	reason       a problem that makes the kubelet report the node as not ready, for example a missing network plugin
//	blocker      a reason or a start-up taint that keeps workloads from the node
//
// # Time
//
// Each boundary between two phases is an interval that contains the true instant. The duration of a phase is the
// distance between the estimates of the phase's two boundaries. The error bound of a phase is the greatest possible
// difference between the estimated and the true duration. Timestamps of the API server and of the kubelet's conditions
// are truncated to seconds. If a change of the Node object has no timestamp, its interval ends when the agent receives
// the change. Its interval begins at the latest time at which the object certainly had not changed yet: the request for
// a list with the unchanged object, or the latest timestamp in the unchanged object.
//
// # Assumptions
//
// The kubelet writes a changed message of the condition Ready to the API server only every 10 s. The package assumes
// that no new problem of the runtime begins between the last message of the condition and the readiness of the node.
// The package also assumes that problems of the network plugin and of the kubelet begin when the kubelet starts, and do
// not return once they are solved. If a message names the network, the time until the problem is solved belongs to the
// network plugin. The network plugin can wait for another component, but the evidence does not name this component.
package nodestart
