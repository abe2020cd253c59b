package scenario

import (
	"slices"
	"time"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/bench"
)

// judgeBlame checks the causes that the agent reports for a container's pulls. A wrong cause is a problem even if the
// agent states a large error bound. If an agent cannot separate the wait in the queue from the pull, it must report
// both as unattributed time. The candidates of this unattributed time must include both phases.
func (j *pullJudge) judgeBlame(what, container string, truth []bench.Attempt, timeline agent.Timeline) {
	if len(truth) == 0 {
		return
	}
	var queued, slack time.Duration
	for _, a := range truth {
		if !a.Call.StartAt.IsZero() {
			queued += max(0, a.Call.StartAt.Sub(a.RequestedAt))
		}
		slack += exact
		// only Events show when a pull left the queue; an agent without Events never reports time in the queue
		if j.sources.events {
			slack += j.sources.largestError(a, neighborInstants{})
		}
	}
	reported, _, err := timeline.In("pull_queue", container)
	switch {
	case err != nil:
		j.verdict.Problem("%s: phase pull_queue: %v", what, err)
	case reported > queued+slack:
		j.verdict.Problem("%s: the pull was in the queue for %s s, but the agent reports %s s in the queue", what,
			seconds(queued), seconds(reported))
	}
	last := truth[len(truth)-1]
	if last.Failed() || last.Call.StartAt.IsZero() || last.RegistryTime.EndAt.IsZero() {
		return
	}
	for _, phase := range timeline.Phases {
		if !phase.IsGroup() || phase.Container != container ||
			slices.Contains(phase.MergedWith, "pull") {
			continue
		}
		if under := sharedDuration(phase, last.Call.StartAt, last.RegistryTime.EndAt); under > exact+slack {
			j.verdict.Problem("%s: the registry was busy for %s of the unattributed time, so the phase \"pull\" "+
				"must be among the "+
				"candidates %q", what, seconds(under), phase.MergedWith)
		}
	}
}

// sharedDuration returns how much of a phase lies between two instants.
func sharedDuration(phase agent.Phase, from, until time.Time) time.Duration {
	if phase.StartAt.After(from) {
		from = phase.StartAt
	}
	if phase.EndAt.Before(until) {
		until = phase.EndAt
	}
	return max(0, until.Sub(from))
}
