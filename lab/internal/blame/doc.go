// Package blame checks the causes in the agent's report against independent logs, for each second of a start-up. A
// scenario collects these logs. From these logs, the package computes the stretches of the start-up whose true cause is
// known. The package compares the agent's phases with these stretches. The package does no I/O.
package blame
