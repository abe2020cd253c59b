// Package blame checks the causes in the agent's report against independent logs, for each second of a start-up. A
// scenario collects the independent logs. From the independent logs, the package computes the periods of the start-up
// whose true cause is known. Such a period is called a stretch. The package compares the agent's phases with the
// stretches. The package does no I/O.
package blame
