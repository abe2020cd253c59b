// Package blame compares whom the agent blames for each second of a start-up with whom witnesses blame. It is pure: a
// scenario asks the witnesses, this package makes stretches with a culprit of what they say, and judges the agent by
// them.
package blame
