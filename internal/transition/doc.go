// Package transition converts start-ups to the record format of the controller kube-transition-metrics, for
// programs that already read this format. docs/records.md lists the differences. All functions are pure.
//
// To remove this format, delete this directory. Then delete the format's line and import in cmd/agent/compat.go, and
// the format's tests in other packages.
package transition
