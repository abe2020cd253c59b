// Package node reports the state of the node itself. The types Watch and Health read the Node object, the type Addons
// follows the add-on pods, the type Pressure measures the stalls of the node's tasks while pods start, and the type
// StartUp collects the evidence about the node's own start-up. By default, all these types are off, and flags enable
// them.
//
// Watch, Pressure and StartUp each run on their own goroutine. Package podwatch calls the methods of the type Addons on
// its own goroutine. The type Pressure sends observations to package reconcile. The collector of NewMetrics reads the
// health and the add-ons at each scrape.
package node
