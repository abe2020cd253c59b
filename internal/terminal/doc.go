// Package terminal owns what may be written to a terminal: which characters, how wide, in which
// colors, and a screen that is drawn again and again. What comes from a cluster or a server passes
// Clean, Escape or YAML before it is printed; nothing of it can then move the cursor, turn text
// around or spoil a table. Only the command line calls it, from the goroutine that prints.
package terminal
