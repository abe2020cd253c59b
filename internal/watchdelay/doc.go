// Package watchdelay measures the delays of the pod watch and of the Event watches. A delay is the time from the
// timestamp in a changed object until the watch delivers the change. The package is off unless a flag enables it.
//
// Package podwatch calls this package for each change of a pod. Package eventwatch calls this package for each Event.
// The packages podwatch and eventwatch call this package from their own goroutines.
package watchdelay
