// Package blame checks the causes in the agent's report against independent evidence, for each second of a start-up. A
// scenario collects the evidence, for example from the logs of the kubelet and containerd. From the evidence, the
// package computes the periods of the start-up whose true cause is known. Such a period is called a stretch. The
// package compares the agent's phases with the stretches. The package does no I/O.
package blame
