// Package blame checks the causes in the agent's report against independent logs, for each second of a start-up. A
// scenario collects the logs. From these logs, the package computes stretches of time with a true cause, and compares
// the agent's phases with the stretches. The package does no I/O.
package blame
