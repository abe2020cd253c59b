// Package imagepull holds what is known about image pulls independent of pods: the kubelet's
// messages about them, how they can end, and which registry a reference names. It is pure. Package timeline uses it on
// the goroutine that folds.
package imagepull

// Outcome is how one pull ended. It is decided by evidence, never by the absence of evidence.
type Outcome string

// Values of Outcome.
const (
	OutcomePresent    Outcome = "present"    // already on the node; the registry was not contacted
	OutcomeVerified   Outcome = "verified"   // the registry was contacted, and no new content was needed
	OutcomeJoined     Outcome = "joined"     // it was absent, and another pull downloaded it
	OutcomeDownloaded Outcome = "downloaded" // content came from the registry
	OutcomeFailed     Outcome = "failed"     // the runtime gave up
	OutcomePulling    Outcome = "pulling"    // in progress
	OutcomeExternal   Outcome = "external"   // in progress, and no pod of the node requested it
	OutcomeUnknown    Outcome = "unknown"    // evidence is missing
)

// Outcomes lists every outcome that a completed pull can have.
func Outcomes() []Outcome {
	return []Outcome{OutcomePresent, OutcomeVerified, OutcomeJoined, OutcomeDownloaded, OutcomeFailed, OutcomeUnknown}
}
