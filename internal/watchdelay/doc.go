// Package watchdelay measures how late the watches on pods and on Events deliver, by the timestamps
// in the objects. It is off unless a flag enables it.
//
// Package podwatch calls it with each change of a pod, and package eventwatch with each Event, on
// their goroutines.
package watchdelay
