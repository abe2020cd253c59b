// Package imagepull handles the facts about image pulls that do not depend on pods: the kubelet's messages about pulls,
// the outcomes of pulls, and the registry of an image reference. The package is pure. Package timeline uses this
// package on the goroutine that computes timelines.
package imagepull

import (
	"slices"
	"time"
)

// Outcome is the result of one pull. Without evidence, the outcome is OutcomeUnknown.
type Outcome string

// Values of Outcome.
const (
	// OutcomePresent means that the image was already on the node and the runtime did not contact the registry.
	OutcomePresent    Outcome = "present"
	OutcomeVerified   Outcome = "verified"   // the runtime contacted the registry and needed no new content
	OutcomeJoined     Outcome = "joined"     // the image was absent, and another pull downloaded it
	OutcomeDownloaded Outcome = "downloaded" // the pull downloaded content from the registry
	OutcomeFailed     Outcome = "failed"     // the runtime reported a failure
	OutcomePulling    Outcome = "pulling"    // the pull is in progress
	OutcomeExternal   Outcome = "external"   // the pull is in progress, and no pod of the node requested it
	OutcomeUnknown    Outcome = "unknown"    // evidence is missing
)

// Outcomes returns every outcome that a completed pull can have.
func Outcomes() []Outcome {
	return []Outcome{OutcomePresent, OutcomeVerified, OutcomeJoined, OutcomeDownloaded, OutcomeFailed, OutcomeUnknown}
}

// IsPull reports whether an attempt to get an image counts as a pull. The argument "times" contains the times of the
// pull's request, start and end. A zero time means that the time is unknown. If the outcome and all times are unknown,
// the attempt does not count as a pull, because the image might already have been on the node. All lists and sums of
// pulls use IsPull.
func IsPull(outcome Outcome, times ...time.Time) bool {
	return outcome != OutcomePresent && (outcome != OutcomeUnknown || slices.ContainsFunc(times, isKnown))
}

func isKnown(t time.Time) bool { return !t.IsZero() }
