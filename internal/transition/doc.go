// Package transition converts start-ups to the record format of the controller kube-transition-metrics, for
// existing readers of this format. docs/records.md lists the differences. All functions are pure.
//
// To remove this format, remove its line from recordFormats in cmd/agent, this directory, and its tests in other
// packages.
package transition
