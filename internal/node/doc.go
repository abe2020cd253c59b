// Package node reports the state of the node itself. Watch and Health read the Node object, Addons follows the add-on
// pods, and Pressure measures the stalls of the node's tasks while pods start. By default, Watch, Health, Addons and
// Pressure are off, and flags enable them.
//
// Watch and Pressure each run on their own goroutine. Package podwatch calls Addons from its goroutine. Pressure
// sends observations to package reconcile. Metrics read Health and Addons at each scrape.
package node
