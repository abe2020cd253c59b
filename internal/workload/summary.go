package workload

import (
	"cmp"
	"slices"
	"time"

	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// Summary describes the start-ups of one workload. Lists are never null. JSON omits values that are unknown.
type Summary struct {
	StartUps Counts `json:"start_ups"`
	// Durations and Slowest are nil if no completed start-up has a known duration.
	Durations *Durations `json:"durations,omitempty"`
	Slowest   *Pod       `json:"slowest,omitempty"`
	// Causes and Phases each add up to exactly Durations.Mean. Causes and Phases start with the largest mean.
	Causes []CauseMean `json:"causes"`
	Phases []PhaseMean `json:"phases"`
	Images Images      `json:"images"`
	// Nodes contains the nodes with enough start-ups for a comparison, the slowest first, at most maxNodes.
	Nodes     []Node     `json:"nodes"`
	Revisions []Revision `json:"revisions"` // the latest revision first
	// Comparison compares two revisions. Comparison is nil if fewer than two revisions are known.
	Comparison *Comparison `json:"comparison,omitempty"`
}

// Counts contains the number of start-ups. Durations and comparisons include only the measured start-ups.
type Counts struct {
	Measured   int `json:"measured"` // completed, with a known duration
	InProgress int `json:"in_progress"`
	GivenUp    int `json:"given_up"`
	Failed     int `json:"failed"`
	Deleted    int `json:"deleted"`          // deleted before the pod was ready
	Unknown    int `json:"unknown_duration"` // completed, but the error bound is as large as the duration
}

// Durations describes the durations of measured start-ups. The percentiles use the nearest-rank method: P90 is the
// shortest duration that at least 90 % of the start-ups did not exceed. Each error bound is the greatest possible
// distance between the reported value and the true value.
type Durations struct {
	StartUps     int         `json:"start_ups"`
	Mean         api.Seconds `json:"mean_seconds"`
	MeanError    api.Seconds `json:"mean_error_seconds"`
	P50          api.Seconds `json:"p50_seconds"`
	P50Error     api.Seconds `json:"p50_error_seconds"`
	P90          api.Seconds `json:"p90_seconds"`
	P90Error     api.Seconds `json:"p90_error_seconds"`
	Slowest      api.Seconds `json:"slowest_seconds"`
	SlowestError api.Seconds `json:"slowest_error_seconds"`
}

// Pod identifies a start-up.
type Pod struct {
	ID        string `json:"id"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Node      string `json:"node"`
}

// CauseMean is the mean time of one cause in all measured start-ups.
type CauseMean struct {
	Cause timeline.Cause `json:"cause"`
	Mean  api.Seconds    `json:"mean_seconds"`
	Error api.Seconds    `json:"error_seconds"` // mean of the error bounds of the phases
}

// PhaseMean is the mean time of one phase in all measured start-ups.
type PhaseMean struct {
	Phase timeline.Phase `json:"phase"`
	Cause timeline.Cause `json:"cause"`
	Mean  api.Seconds    `json:"mean_seconds"`
	Error api.Seconds    `json:"error_seconds"` // mean of the error bounds of the phase
}

// Options selects the revisions in a summary.
type Options struct {
	// Compare contains the two revisions to compare. If Compare is empty, Summarize compares the latest two revisions.
	Compare []string
	// Numbers maps each revision to its number, if the number is known. A revision with a number is later than a
	// revision with a smaller number or without a number. If two revisions have no number, the revision with the newest
	// pod is the later revision.
	Numbers map[string]int64
	// NoRevisions is true for a workload whose revisions are not versions of a pod template, such as a CronJob.
	NoRevisions bool
}

// Summarize computes the summary of a workload's start-ups. The order and the repetition of records do not change the
// result.
func Summarize(records []api.Record, options Options) Summary {
	s := Summary{Causes: []CauseMean{}, Phases: []PhaseMean{}, Nodes: []Node{}, Revisions: []Revision{}}
	all := unique(records)
	var samples []*sample
	for _, record := range all {
		if sample, ok := s.StartUps.count(record); ok {
			samples = append(samples, sample)
		}
	}
	if len(samples) > 0 {
		durations := durationsOf(samples)
		s.Durations = &durations
		slowest := slices.MaxFunc(samples, func(a, b *sample) int {
			return cmp.Compare(a.total.estimate, b.total.estimate)
		}).record
		s.Slowest = &Pod{slowest.ID, slowest.Namespace, slowest.Name, slowest.Node}
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

// count counts one start-up, and returns its sample if the start-up is measured.
func (c *Counts) count(record *api.Record) (*sample, bool) {
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

// durationsOf returns the durations of samples. The list must not be empty.
func durationsOf(samples []*sample) Durations {
	var estimates, lows, highs []time.Duration
	for _, s := range samples {
		estimates = append(estimates, s.total.estimate)
		lows = append(lows, s.total.low)
		highs = append(highs, s.total.high)
	}
	average := mean(estimates)
	d := Durations{StartUps: len(samples), Mean: api.Seconds(average), MeanError: api.Seconds(mean(highs) - average)}
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

// rank returns the nearest rank of a percentile, from 1 to n.
func rank(percent, n int) int { return max(1, (n*percent+99)/100) }

// mean returns the mean of durations, rounded down. The sum of the durations cannot overflow. An empty list has the
// mean 0.
func mean(list []time.Duration) time.Duration {
	var s sum
	for _, d := range list {
		s.add(d, len(list))
	}
	return s.of(len(list))
}

// sum adds up durations for a mean. The two fields prevent an overflow.
type sum struct{ quotients, remainders time.Duration }

func (s *sum) add(d time.Duration, n int) {
	s.quotients, s.remainders = s.quotients+d/time.Duration(n), s.remainders+d%time.Duration(n)
}

func (s sum) of(n int) time.Duration {
	if n == 0 {
		return 0
	}
	return s.quotients + s.remainders/time.Duration(n)
}

// phaseMeans returns the mean of each phase. phaseMeans rounds the running sum of the means and not each mean, so that
// the means add up to exactly the mean of the durations.
func phaseMeans(samples []*sample) []PhaseMean {
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
	keys := make([]work, 0, len(sums))
	for key := range sums {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b work) int {
		return cmp.Or(cmp.Compare(sums[b].of(len(samples)), sums[a].of(len(samples))), cmp.Compare(a.phase, b.phase),
			cmp.Compare(a.cause, b.cause))
	})
	means := make([]PhaseMean, 0, len(keys))
	var running sum
	for _, key := range keys {
		before := running.of(len(samples))
		running.quotients += sums[key].quotients
		running.remainders += sums[key].remainders
		means = append(means, PhaseMean{Phase: key.phase, Cause: key.cause,
			Mean:  api.Seconds(running.of(len(samples)) - before),
			Error: api.Seconds(errs[key].of(len(samples)))})
	}
	return means
}

// causeMeans adds up the means of the phases that have the same cause.
func causeMeans(phases []PhaseMean) []CauseMean {
	causes := []CauseMean{}
	for _, phase := range phases {
		i := slices.IndexFunc(causes, func(c CauseMean) bool { return c.Cause == phase.Cause })
		if i < 0 {
			causes = append(causes, CauseMean{Cause: phase.Cause})
			i = len(causes) - 1
		}
		causes[i].Mean += phase.Mean
		causes[i].Error += phase.Error
	}
	slices.SortStableFunc(causes, func(a, b CauseMean) int {
		return cmp.Or(cmp.Compare(b.Mean, a.Mean), cmp.Compare(a.Cause, b.Cause))
	})
	return causes
}
