// Package terminal controls the output to a terminal: the allowed characters, the width, the colors, and a screen that
// the program draws repeatedly. The functions Clean, JSON and YAML make untrusted text from a cluster or a server
// harmless. Harmless text cannot move the cursor, reverse text or break a table. Clean, JSON and YAML are safe to call
// from any goroutine. A Screen is not safe for concurrent use.
package terminal
