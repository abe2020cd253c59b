// Package blame compares, for each second of a start-up, the cause that the agent blames with the cause that the
// witnesses blame. It is pure: a scenario collects the evidence of the witnesses, and this package turns it into
// stretches with a culprit and judges the agent by them.
package blame
