// Package transition converts start-ups to the records of kube-transition-metrics, for readers of that
// controller's output. docs/records.md lists the differences. All functions are pure.
//
// To remove this format, remove its line from recordFormats in cmd/agent, this directory, and the
// tests of other packages that use it.
package transition
