package livepull

import (
	"hash/fnv"

	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// failingPull is a key for failing pulls. For each key, the collector counts the failing pulls.
type failingPull struct {
	registry string // value of the label "registry"
	why      imagepull.Failure
}

// waitingPull is a pull that a pod waits for, with the namespace of the pod.
type waitingPull struct {
	namespace string
	bucket    int // group of the pod's workload: see bucketOf
	timeline.Pull
}

// bucketOf assigns each workload to a group. buckets is the number of these groups.
const buckets = 64

// bucketOf returns the group of a pod's workload. All nodes assign a workload to the same group. If pulls fail in two
// groups, at least two workloads are affected. If a pod has no owner, bucketOf treats the pod as a separate workload.
// For example, runners of CI jobs create many pods without an owner in one namespace. If all these pods counted as one
// workload, a broken registry would look like the problem of a single workload.
func bucketOf(t timeline.Timeline) int {
	owner := t.Owner
	if owner.Name == "" {
		owner = timeline.Owner{Kind: "Pod", Name: t.Name}
	}
	hash := fnv.New32a()
	for _, part := range []string{t.Namespace, owner.Kind, owner.Name} {
		_, _ = hash.Write([]byte(part + "/"))
	}
	return int(hash.Sum32() % buckets)
}

// failingBucket identifies a group of workloads with failing pulls that have the same registry label and the same
// reason.
type failingBucket struct {
	failingPull
	bucket int
}

// failingNow lists the failing pulls of starting pods. A pull is failing if its latest completed attempt failed. Other
// metrics count failed pulls only when the start-up is complete, which is too late during an outage.
func failingNow(timelines []timeline.Timeline) (all []waitingPull) {
	for _, t := range timelines {
		if t.State == timeline.StateStarting {
			for _, p := range latestAttempts(t.Pulls) {
				all = append(all, waitingPull{t.Namespace, bucketOf(t), p})
			}
		}
	}
	return all
}

// countFailing counts the failing pulls, and finds the groups of workloads with failing pulls.
func countFailing(
	pulls []waitingPull, labelOf func(registry string) string,
) (counts map[failingPull]int, groups map[failingBucket]bool) {
	counts, groups = map[failingPull]int{}, map[failingBucket]bool{}
	for _, p := range pulls {
		key := failingPull{labelOf(p.Registry), p.Failure.Counted(p.Unconfirmed)}
		counts[key]++
		groups[failingBucket{key, p.bucket}] = true
	}
	return counts, groups
}

// latestAttempts looks at the latest completed pull attempt of each container. The result contains only the attempts
// that failed. latestAttempts ignores attempts in progress. In the argument, the attempts of a container must be
// adjacent and in order.
func latestAttempts(attempts []timeline.Pull) []timeline.Pull {
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
