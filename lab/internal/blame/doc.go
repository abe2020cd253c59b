// Package blame compares, for each second of a start-up, the cause in the agent's report with the cause in independent
// logs. The package is pure. A scenario collects the evidence, and this package converts the evidence to stretches with
// a true cause. Then the package compares the agent's phases with these stretches.
package blame
