// Package node reports the state of the node itself. The types Watch and Health read the Node object. The type Addons
// follows the add-on pods. The type Pressure measures how long the node's tasks stall while pods start. The type
// StartUp collects the evidence about the node's own start-up. By default, the agent uses none of these types. Flags
// enable them.
//
// Watch, Pressure and StartUp each run on their own goroutine. Package podwatch calls the methods Seen, Restarted and
// Gone of Addons on the goroutine of podwatch. The type Pressure sends observations to package reconcile. The collector
// of NewMetrics reads the health and the add-ons at each scrape.
package node
