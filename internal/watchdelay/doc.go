// Package watchdelay measures the delays of the pod watch and of the Event watches, by the timestamps in the
// objects. The package is off unless a flag enables it.
//
// Package podwatch calls it for each change of a pod, and package eventwatch for each Event, on their goroutines.
package watchdelay
