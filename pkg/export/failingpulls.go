package export

import (
	"cmp"

	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// failingPull is what the pulls that fail again and again are counted by.
type failingPull struct {
	registry string // as a label
	why      imagepull.Failure
}

// waitingPull is a pull that a pod of a namespace waits for.
type waitingPull struct {
	namespace string
	timeline.Pull
}

// failingNow lists the pulls that pods which start wait for and whose latest attempt to end failed.
// Nothing else counts them until the start-up is over, which during an outage is too late.
func failingNow(timelines []timeline.Timeline) (all []waitingPull) {
	for _, t := range timelines {
		if t.State == timeline.StateStarting {
			for _, p := range failing(t.Pulls) {
				all = append(all, waitingPull{t.Namespace, p})
			}
		}
	}
	return all
}

func countFailing(pulls []waitingPull, labelOf func(registry string) string) map[failingPull]int {
	counts := map[failingPull]int{}
	for _, p := range pulls {
		counts[failingPull{labelOf(p.Registry), countedFailure(p.Failure, p.Unconfirmed)}]++
	}
	return counts
}

// countedFailure is the reason for which a failed pull counts for its registry. What only Events
// tell says nothing about a registry that others use, since tenants may create Events.
func countedFailure(why imagepull.Failure, unconfirmed bool) imagepull.Failure {
	if unconfirmed {
		return imagepull.FailureUnconfirmed
	}
	return cmp.Or(why, imagepull.FailureOther)
}

// failing lists, of each container whose latest attempt to end failed, that attempt. An attempt of
// which nobody knows how it ended has not failed. The attempts of a container are neighbors, in
// their order.
func failing(attempts []timeline.Pull) []timeline.Pull {
	var failed []timeline.Pull
	for _, p := range attempts {
		if p.Outcome == imagepull.OutcomePulling {
			continue
		}
		if n := len(failed); n > 0 && failed[n-1].Container == p.Container {
			failed = failed[:n-1]
		}
		if p.Outcome == imagepull.OutcomeFailed {
			failed = append(failed, p)
		}
	}
	return failed
}
