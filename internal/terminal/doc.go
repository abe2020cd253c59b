// Package terminal controls the output to a terminal: the allowed characters, the width, the colors, and a screen
// that the program draws repeatedly. The program passes text from a cluster or a server through Clean, JSON or
// YAML. The text then cannot move the cursor, reverse text or break a table. Only the command line calls the
// package, on the goroutine that prints.
package terminal
