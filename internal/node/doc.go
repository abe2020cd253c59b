// Package node reports the state of the node itself: its Node object (Health), the add-ons that run
// on it (Addons), and how much its tasks are stalled while pods start (Pressure). The watches of
// package podwatch call the first two on their goroutines, and metrics read them at each scrape.
// Pressure runs on a goroutine of its own and observes for package reconcile. Each is off unless a
// flag enables it.
package node
