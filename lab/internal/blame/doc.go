// Package blame checks whether the agent reports the right cause for each part of a start-up. A scenario collects
// independent evidence, for example from the logs of the kubelet and containerd. For some periods of the start-up, this
// evidence shows the true cause. Such a period is called a stretch. The package computes the stretches and compares the
// agent's phases with them. The package does no I/O.
package blame
