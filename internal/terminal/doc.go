// Package terminal owns the output to a terminal: the allowed characters, the width, the colors, and a screen that is
// drawn again and again. Text from a cluster or a server passes Clean, JSON or YAML before the program prints it, so
// that the text cannot move the cursor, reverse text or break a table. Only the command line calls the package, from
// the goroutine that prints.
package terminal
