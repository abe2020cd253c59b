// Package render turns records into text for a terminal: the waterfall of a start-up with its pulls and its
// termination, and tables of start-ups and pulls. The commands explain, pulls, top and replay print it. All functions
// are pure and may be called from any goroutine. Records may be untrusted: nothing in them can control the terminal.
package render
