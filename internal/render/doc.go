// Package render converts records into text for a terminal. The package draws the waterfall of a start-up with its
// pulls and its termination. The package also formats the cells of tables. The commands "explain", "pulls", "top" and
// "replay" print this text. All functions are pure and safe to call on any goroutine. Records can be untrusted, so the
// package removes characters that could control the terminal.
package render
