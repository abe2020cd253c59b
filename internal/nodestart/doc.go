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
//	reason       a condition of the kubelet for the condition Ready, for example a ready network plugin
//	blocker      a reason or a start-up taint that keeps the node from taking workloads
//
// # Time
//
// Each boundary between two phases is an interval that contains the true instant. The time of a phase is the distance
// between two estimates, and the error of a phase is the greatest possible distance between this time and the truth.
// Timestamps of the API server and of the kubelet's conditions are truncated to seconds. The arrival of a change is an
// upper bound. The lower bound of a change is the latest time at which the older state was certain: the time of a list
// request that still returned this state, or the latest timestamp in the object.
//
// # Assumptions
//
// The kubelet writes a changed message of the condition Ready to the API server every 10 s. So the package assumes that
// no problem of the runtime begins after the last message and ends before the node is ready. The network plugin and the
// kubelet's own preparations are problems from the start of the kubelet on, until they are solved once. A message about
// the network names the network plugin, even if the plugin waits for another component that no evidence shows.
package nodestart
