// Package node tells how the node itself is: what its Node object says (Health), the add-ons that
// run on it (Addons), and how much its tasks are stalled while pods start (Pressure). The first two
// are told of objects by the watches of package podwatch and are read at each scrape; the third
// observes for package reconcile. All of it is off unless a flag asks for it.
package node
