// Package transition converts start-ups to the record format of the controller kube-transition-metrics, for
// existing readers of this format. docs/records.md lists the differences. All functions are pure.
//
// To remove this format, remove this directory, the format's line in recordFormats of cmd/agent, and the format's tests
// in other packages.
package transition
