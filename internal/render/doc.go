// Package render converts records into text for a terminal. The package draws the waterfall of a start-up, with the
// pulls and the termination of the pod. The package also draws the start-up of a node and the summary of a workload,
// and formats the cells of tables. The packages cli, top and web use package render. All functions are pure and safe to
// call on any goroutine. Records can be untrusted, so the package removes characters that could control the terminal.
package render
