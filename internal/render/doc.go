// Package render converts records into text for a terminal: the waterfall of a start-up with its pulls and its
// termination, and tables of start-ups and pulls. The commands `explain`, `pulls`, `top` and `replay` print this
// text. All functions are pure and safe to call from any goroutine. Records can be untrusted, so the package removes
// characters that could control the terminal.
package render
