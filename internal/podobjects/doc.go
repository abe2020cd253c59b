// Package podobjects keeps the pod objects of the node for the read API. The package is off unless a flag enables it.
//
// Package podwatch passes each object to this package. HTTP handlers read the objects on their own goroutines.
package podobjects
