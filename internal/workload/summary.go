package workload

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// Options selects the revisions in a summary.
type Options struct {
	// Compare contains the two revisions to compare. If Compare does not contain two revisions, Summarize chooses two
	// revisions: see compareRevisions.
	Compare []string
	// Numbers maps each revision to its number, if the number is known. A revision with a number is later than a
	// revision with a smaller number or without a number. If two revisions have no number, the revision with the newest
	// pod is the later revision.
	Numbers map[string]int64
	// If NoRevisions is true, Summarize ignores the revisions. NoRevisions is suitable for a workload whose revisions
	// are not versions of a pod template, such as a CronJob.
	NoRevisions bool
}

// Summarize computes the summary of a workload's start-ups. Neither the order of the records nor repeated records
// change the result.
func Summarize(records []api.Record, options Options) api.WorkloadSummary {
	s := api.WorkloadSummary{Causes: []api.WorkloadCause{}, Phases: []api.WorkloadPhase{},
		Nodes: []api.WorkloadNode{}, Revisions: []api.WorkloadRevision{}}
	all := unique(records)
	var samples []*sample
	for _, record := range all {
		if sample, ok := countStartUp(&s.StartUps, record); ok {
			samples = append(samples, sample)
		}
	}
	if len(samples) > 0 {
		s.Durations = new(durationsOf(samples))
		slowest := slices.MaxFunc(samples, func(a, b *sample) int {
			return cmp.Compare(a.total.estimate, b.total.estimate)
		}).record
		s.Slowest = &api.WorkloadPod{ID: slowest.ID, Namespace: slowest.Namespace, Name: slowest.Name,
			UID: slowest.UID, Node: slowest.Node}
		s.Phases = phaseMeans(samples)
		s.Causes = causeMeans(s.Phases)
	}
	s.Images = splitByImage(samples, options.NoRevisions)
	s.Nodes = splitByNode(samples, options.NoRevisions)
	if !options.NoRevisions {
		s.Revisions = revisionsOf(all, samples, options.Numbers)
		s.Comparison = compareRevisions(s.Revisions, samples, options.Compare)
	}
	return s
}

// countStartUp counts one start-up by its state. If the pod became ready or succeeded, and if the duration is known,
// countStartUp also returns the sample of the start-up.
func countStartUp(c *api.WorkloadCounts, record *api.Record) (*sample, bool) {
	switch record.State {
	case timeline.StateReady, timeline.StateSucceeded:
		s, ok := newSample(record)
		if ok {
			c.Measured++
		} else {
			c.Unknown++
		}
		return s, ok
	case timeline.StateStarting:
		c.InProgress++
	case timeline.StateGivenUp:
		c.GivenUp++
	case timeline.StateDeleted:
		c.Deleted++
	default:
		c.Failed++
	}
	return nil, false
}

// durationsOf returns the mean and the percentiles of the samples' durations. The list of samples must not be empty.
func durationsOf(samples []*sample) api.WorkloadDurations {
	estimates := mapped(samples, func(s *sample) time.Duration { return s.total.estimate })
	lows := mapped(samples, func(s *sample) time.Duration { return s.total.low })
	highs := mapped(samples, func(s *sample) time.Duration { return s.total.high })
	average := mean(estimates)
	d := api.WorkloadDurations{StartUps: len(samples), Mean: api.Seconds(average),
		MeanError: api.Seconds(mean(highs) - average)}
	for _, list := range [][]time.Duration{estimates, lows, highs} {
		slices.Sort(list)
	}
	at := func(percent int) (api.Seconds, api.Seconds) {
		i := rank(percent, len(samples)) - 1
		return api.Seconds(estimates[i]), api.Seconds(max(estimates[i]-lows[i], highs[i]-estimates[i]))
	}
	d.P50, d.P50Error = at(50)
	d.P90, d.P90Error = at(90)
	d.Slowest, d.SlowestError = at(100)
	return d
}

// rank returns the position of a percentile in a sorted list of n values, from 1 to n (nearest-rank method).
func rank(percent, n int) int { return max(1, (n*percent+99)/100) }

// mean returns the mean of durations, rounded down. The computation cannot overflow. An empty list has the mean 0.
func mean(list []time.Duration) time.Duration {
	var s sum
	for _, d := range list {
		s.add(d, len(list))
	}
	return s.mean(len(list))
}

// sum computes the mean of n durations. A plain sum of the durations could overflow. So sum divides each duration by n,
// and adds up the quotients and the remainders.
type sum struct{ quotients, remainders time.Duration }

func (s *sum) add(d time.Duration, n int) {
	s.quotients, s.remainders = s.quotients+d/time.Duration(n), s.remainders+d%time.Duration(n)
}

func (s sum) mean(n int) time.Duration {
	if n == 0 {
		return 0
	}
	return s.quotients + s.remainders/time.Duration(n)
}

// phaseMeans returns the mean time of each phase with each cause. All means add up to exactly the mean of the
// durations. To make the sum exact, phaseMeans rounds only the running total of the means. Each mean is the difference
// between two rounded totals.
func phaseMeans(samples []*sample) []api.WorkloadPhase {
	sums, errs := map[work]*sum{}, map[work]*sum{}
	for _, s := range samples {
		for key, share := range s.shares {
			if sums[key] == nil {
				sums[key], errs[key] = &sum{}, &sum{}
			}
			sums[key].add(share.length, len(samples))
			errs[key].add(share.err, len(samples))
		}
	}
	keys := slices.SortedFunc(maps.Keys(sums), func(a, b work) int {
		return cmp.Or(cmp.Compare(sums[b].mean(len(samples)), sums[a].mean(len(samples))),
			cmp.Compare(a.phase, b.phase),
			cmp.Compare(a.cause, b.cause))
	})
	means := make([]api.WorkloadPhase, 0, len(keys))
	var running sum
	for _, key := range keys {
		before := running.mean(len(samples))
		running.quotients += sums[key].quotients
		running.remainders += sums[key].remainders
		means = append(means, api.WorkloadPhase{Phase: key.phase, Cause: key.cause,
			Mean:  api.Seconds(running.mean(len(samples)) - before),
			Error: api.Seconds(errs[key].mean(len(samples)))})
	}
	return means
}

// causeMeans adds up the means of the phases that have the same cause.
func causeMeans(phases []api.WorkloadPhase) []api.WorkloadCause {
	causes := []api.WorkloadCause{}
	for _, phase := range phases {
		i := slices.IndexFunc(causes, func(c api.WorkloadCause) bool { return c.Cause == phase.Cause })
		if i < 0 {
			causes = append(causes, api.WorkloadCause{Cause: phase.Cause})
			i = len(causes) - 1
		}
		causes[i].Mean += phase.Mean
		causes[i].Error += phase.Error
	}
	slices.SortStableFunc(causes, func(a, b api.WorkloadCause) int {
		return cmp.Or(cmp.Compare(b.Mean, a.Mean), cmp.Compare(a.Cause, b.Cause))
	})
	return causes
}
