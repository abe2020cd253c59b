// Package imagepull holds what is known about image pulls apart from any pod: how kubelet words
// them, how they can end, and which registry a reference names. It is pure; package timeline uses it
// from whatever goroutine folds.
package imagepull

// Outcome is how one pull ended, decided from evidence and never from its absence.
type Outcome string

// The outcomes.
const (
	OutcomePresent    Outcome = "present"    // on the node already; the registry was not asked
	OutcomeVerified   Outcome = "verified"   // the registry was asked, nothing new came
	OutcomeJoined     Outcome = "joined"     // it was absent, and another pull brought it
	OutcomeDownloaded Outcome = "downloaded" // content came from the registry
	OutcomeFailed     Outcome = "failed"     // the runtime gave up
	OutcomePulling    Outcome = "pulling"    // still going on
	OutcomeExternal   Outcome = "external"   // going on, and no pod of the node asked for it
	OutcomeUnknown    Outcome = "unknown"    // evidence is missing
)

// Outcomes lists every outcome a finished pull can have.
func Outcomes() []Outcome {
	return []Outcome{OutcomePresent, OutcomeVerified, OutcomeJoined, OutcomeDownloaded, OutcomeFailed, OutcomeUnknown}
}
