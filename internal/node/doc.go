// Package node reports the state of the node itself: its Node object (Watch, Health), the add-ons
// that run on it (Addons), and how much its tasks are stalled while pods start (Pressure). Watch
// passes on the object, and package podwatch the pods of add-ons, each on its goroutine; metrics read
// both at each scrape. Watch and Pressure each run on a goroutine of their own. Pressure observes for
// package reconcile. Each is off unless a flag enables it.
package node
