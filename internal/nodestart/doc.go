// Package nodestart computes the timeline of the start-up of the node itself. Its inputs are observations of the
// machine, the Node object, the kubelet's Events and the node's pods. The phases of the timeline cover the time from
// the boot of the machine until the first workload pod is ready, without gaps.
//
// The package does no I/O, starts no goroutine and reads no clock. An Evidence is not safe for concurrent use.
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
// The package knows each boundary between two phases only as an interval. The interval contains the true instant of the
// boundary and an estimate of it. The duration of a phase is the time between the estimates of the phase's two
// boundaries. The error bound of a phase is the greatest possible difference between the estimated and the true
// duration. Timestamps of the API server and of the kubelet's conditions are truncated to seconds. If a change of the
// Node object has no timestamp, the interval of the change ends when the agent receives the change. For a change
// without a timestamp, the interval begins at the latest proof that the object was unchanged. The proof is a list
// request that returned the unchanged object, or the latest timestamp in the unchanged object.
//
// # Assumptions
//
// The kubelet writes new messages of the condition Ready to the API server only every 10 s. The package assumes that
// between the last message and the readiness of the node, no new problem of the container runtime begins. The package
// assumes that problems of the network plugin and of the kubelet begin when the kubelet starts, and that solved
// problems do not return. If a message names the network, the package attributes the time to the network plugin until
// the problem is solved. The network plugin can wait for another component, but the evidence does not name this
// component.
package nodestart
