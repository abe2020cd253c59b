// Package watchdelay measures the delays of the pod watch and of the Event watches. The delays are relative to the
// timestamps in the objects. The package is off unless a flag enables it.
//
// Package podwatch calls this package for each change of a pod. Package eventwatch calls this package for each Event.
// The packages podwatch and eventwatch call this package from their own goroutines.
package watchdelay
