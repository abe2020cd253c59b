package report

import (
	"fmt"
	"time"

	"github.com/podlapse/podlapse/pkg/api"
)

// These constants limit the sums of one agent. The limits are far above the values of any real node. The limits are low
// enough that the sums of many agents cannot overflow.
const (
	maxCount       = 1_000_000_000
	maxPullSeconds = 100_000_000 // maximum for the duration of all pulls, and for the duration of unpacking
	maxPullBytes   = 10_000_000_000_000_000
)

// The constant "rounding" is a tolerance. Durations are rounded, so the sum of the parts can exceed the total by at
// most this time.
const rounding = api.Seconds(time.Second)

// Check returns an error if the sums of an agent are impossible, for example negative. Impossible sums of one agent
// would distort the comparisons of all nodes.
func Check(sums api.ReportRecord) error {
	var c checker
	if sums.Totals != nil {
		c.err = CheckTotals(*sums.Totals)
	}
	for _, item := range sums.Items {
		c.item(item)
	}
	return c.err
}

// CheckTotals returns an error if the totals of an agent's start-ups in a time window are impossible.
func CheckTotals(totals api.TotalsRecord) error {
	var c checker
	c.totals(totals)
	return c.err
}

// RecordCheck checks the records of one agent, before the caller adds them up.
type RecordCheck struct{ checker }

// Check returns an error if a record has impossible values, or if the sums of the records so far are too large.
func (c *RecordCheck) Check(record api.Record) error {
	of := fmt.Sprintf("pod %.100q", record.Namespace+"/"+record.Name)
	c.checkLength(of, "total_seconds", record.Total, maxSeconds)
	c.addSeconds("all pods", record.Total)
	rest := record.Total + rounding
	for _, phase := range record.Phases {
		c.checkLength(of, "seconds of a phase", phase.Length, maxSeconds)
		if rest -= phase.Length; rest < 0 {
			c.fail("%s has phases that are longer than total_seconds", of)
			break
		}
	}
	for _, pull := range record.Pulls {
		var sums api.PullTotals
		if pull.Pull != nil {
			sums.Length = *pull.Pull
		}
		if pull.Download != nil {
			sums.Bytes = pull.Download.Bytes
		}
		if pull.Unpack != nil {
			sums.Sized.Unpack = pull.Unpack.Busy
		}
		c.checkPulls(of, sums)
		c.addPulls(sums)
	}
	return c.err
}

// checker keeps the first error.
type checker struct {
	err     error
	seconds float64 // total duration of the pods, workloads or phases so far
	// All fields below are totals so far. pullSeconds and pullBytes cover all pulls. sizedSeconds and sizedBytes cover
	// only the sized pulls: see api.PullRecord.Sized.
	pullSeconds, sizedSeconds, unpackSeconds float64
	pullBytes, sizedBytes                    float64
}

func (c *checker) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf(format, args...)
	}
}

// checkCount checks a number. The argument "of" names the pod, workload, image, registry or node that has the
// number. The argument "field" describes the number.
func (c *checker) checkCount(of, field string, n int) {
	if n < 0 || n > maxCount {
		c.fail("%s has %s %d: must be 0 to %d", of, field, n, maxCount)
	}
}

// checkLength checks a duration. The argument "most" is the maximum, in seconds.
func (c *checker) checkLength(of, field string, s api.Seconds, most float64) {
	if s < 0 || s.Duration().Seconds() > most {
		c.fail("%s has %s %s: must be 0 to %.0f", of, field, s, most)
	}
}

func (c *checker) item(i api.ReportItem) {
	of := fmt.Sprintf("%.100q", workloadName(i))
	if i.Kind == api.ReportImage {
		of = fmt.Sprintf("image %.100q", i.Image)
		c.addPulls(i.Pulls)
	}
	c.addSeconds("all workloads", i.Total)
	c.checkCount(of, "start_ups", i.StartUps)
	c.checkCount(of, "failures", i.Failures)
	c.checkCount(of, "in_progress", i.InProgress)
	if i.Failures > i.StartUps {
		c.fail("%s has %d failures of %d start-ups", of, i.Failures, i.StartUps)
	}
	c.checkLength(of, "seconds", i.Total, maxSeconds)
	c.checkLength(of, "unfinished_seconds", i.Unfinished, maxSeconds)
	if i.Unfinished > i.Total {
		c.fail("%s has unfinished_seconds %s of %s", of, i.Unfinished, i.Total)
	}
	rest := i.Total + rounding
	for _, cause := range i.Causes {
		c.checkLength(of, "seconds of a cause", cause.Length, maxSeconds)
		c.checkLength(of, "unfinished_seconds of a cause", cause.Unfinished, maxSeconds)
		if cause.Unfinished > cause.Length {
			c.fail("%s has a cause with unfinished_seconds %s of %s", of, cause.Unfinished, cause.Length)
		}
		if rest -= cause.Length; rest < 0 {
			c.fail("%s has causes that are longer than its seconds %s", of, i.Total)
			break
		}
	}
	c.checkPulls(of, i.Pulls)
}

func (c *checker) totals(t api.TotalsRecord) {
	const of = "the node"
	c.checkCount(of, "ended", t.Ended)
	c.checkCount(of, "started", t.Started)
	c.checkCount(of, "unreported_milestones", t.Unreported)
	if t.Started > t.Ended {
		c.fail("%s has %d started of %d ended start-ups", of, t.Started, t.Ended)
	}
	for _, phase := range t.Phases {
		c.checkLength(of, "seconds of a phase", phase.Length, maxSeconds)
		c.checkCount(of, "steps of a phase", phase.Steps)
		c.addSeconds("all phases", phase.Length)
	}
	for _, r := range t.Registries {
		of := fmt.Sprintf("registry %.100q", r.Registry)
		c.checkPulls(of, r.PullTotals)
		c.addPulls(r.PullTotals)
		c.checkLength(of, "unpack_seconds", r.Unpack, maxPullSeconds)
		rest := r.Length + rounding
		for _, d := range r.Durations {
			c.checkCount(of, "pulls of a duration", d.Pulls)
			c.checkLength(of, "seconds of a duration", d.Length, maxPullSeconds)
			if rest -= d.Length; rest < 0 {
				c.fail("%s has durations that are longer than the seconds of its pulls", of)
				break
			}
		}
	}
}

// checkPulls checks the pull totals of a pod, an image, a workload or a registry.
func (c *checker) checkPulls(of string, p api.PullTotals) {
	c.checkCount(of, "pulls", p.Pulls)
	c.checkCount(of, "failures of pulls", p.Failures)
	c.checkCount(of, "pulls in_progress", p.InProgress)
	c.checkCount(of, "sized pulls", p.Sized.Pulls)
	c.checkLength(of, "seconds of pulls", p.Length, maxPullSeconds)
	c.checkLength(of, "seconds of sized pulls", p.Sized.Length, maxPullSeconds)
	c.checkLength(of, "unpack_seconds of sized pulls", p.Sized.Unpack, maxPullSeconds)
	for _, bytes := range []int64{p.Bytes, p.Sized.Bytes} {
		if bytes < 0 || bytes > maxPullBytes {
			c.fail("%s has bytes %d: must be 0 to %d", of, bytes, int64(maxPullBytes))
		}
	}
}

// addSeconds adds a duration to the total so far, and checks the new total. The argument "what" names the pods,
// workloads or phases whose durations are added.
func (c *checker) addSeconds(what string, s api.Seconds) {
	if c.seconds += s.Duration().Seconds(); c.seconds > maxSeconds {
		c.fail("%s together have more than %.0f seconds", what, float64(maxSeconds))
	}
}

// addPulls adds pull totals to the totals so far, and checks the new totals.
func (c *checker) addPulls(p api.PullTotals) {
	c.pullSeconds += p.Length.Duration().Seconds()
	c.sizedSeconds += p.Sized.Length.Duration().Seconds()
	c.unpackSeconds += p.Sized.Unpack.Duration().Seconds()
	c.pullBytes += float64(p.Bytes)
	c.sizedBytes += float64(p.Sized.Bytes)
	if max(c.pullSeconds, c.sizedSeconds, c.unpackSeconds) > maxPullSeconds ||
		max(c.pullBytes, c.sizedBytes) > maxPullBytes {
		c.fail("all pulls together have more than %d seconds or %d bytes", maxPullSeconds, int64(maxPullBytes))
	}
}
