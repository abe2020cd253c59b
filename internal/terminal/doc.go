// Package terminal owns what may be written to a terminal: which characters, how wide, in which
// colors, and a screen that is redrawn. Text from a cluster or a server passes Clean, Escape or
// YAML before it is printed, so that it cannot move the cursor, reverse text or break a table. Only
// the command line calls it, from the goroutine that prints.
package terminal
