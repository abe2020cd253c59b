package fleetmetrics

import (
	"fmt"
	"time"
)

// quarter and hour are windows of recording rules. At each evaluation, a rule with the window hour records how much a
// counter increased in the last hour. A rule with the window quarter records how much a counter increased in the last
// 15 minutes.
const (
	quarter = 15 * time.Minute
	hour    = time.Hour
)

// period is the time span that a report covers. The length of a period is a whole number of hours. A period can end at
// any second, not only at a full hour.
type period struct {
	until time.Time
	hours int
}

// newPeriod returns the period that ends at the time "until". newPeriod rounds the length up to whole hours, because
// the rules for nodes and registries have windows of an hour.
func newPeriod(until time.Time, length time.Duration) period {
	return period{until.Truncate(time.Second), int((length + hour - 1) / hour)}
}

func (p period) length() time.Duration { return time.Duration(p.hours) * hour }

func (p period) since() time.Time { return p.until.Add(-p.length()) }

// sumOverTime returns a PromQL expression for the total of a recorded series in the period. Each value of the series
// covers one window. The expression adds up the values of all windows in the period. The windows cover the whole
// period, and do not overlap.
func (p period) sumOverTime(series string, window time.Duration) string {
	return p.overTime("sum_over_time", series, window)
}

// overTime returns a PromQL expression that applies a function, such as sum_over_time, to a series. For each window in
// the period, the function receives the value of the series at the end of the window. The expression contains a
// subquery. PromQL evaluates this subquery only at Unix times that are multiples of the window. If the end of the
// period is not a multiple of the window, shiftedToEnd shifts the series in time. The range of the subquery is one
// second shorter than the period. Without this difference, Prometheus 2 would also use the value at the start of the
// period. Prometheus 3 excludes the start of a range.
func (p period) overTime(function, series string, window time.Duration) string {
	return fmt.Sprintf("%s(%s[%ds:%dm])", function, p.shiftedToEnd(series, window), int(p.length()/time.Second)-1,
		window/time.Minute)
}

// shiftedToEnd returns a PromQL expression for the series, shifted in time so that a window ends at the end of the
// period. If the period ends s seconds after a multiple of the window, the value of the expression at the time t is the
// value of the series at t + s. If s is 0, the expression is the unchanged series.
func (p period) shiftedToEnd(series string, window time.Duration) string {
	if shift := p.until.Unix() % int64(window/time.Second); shift > 0 {
		return fmt.Sprintf("(%s offset -%ds)", series, shift)
	}
	return series
}

// hoursWith returns an expression for the number of hours in which a recorded metric has at least one series.
func (p period) hoursWith(metric string) string {
	return fmt.Sprintf("count_over_time(group(%s)[%ds:60m])", p.shiftedToEnd(metric, hour),
		int(p.length()/time.Second)-1)
}

// increase returns a PromQL expression for the increase of a counter over the period. A series of the counter can begin
// some time after the agent has started. If a series begins within the period, its first value is part of the increase
// in two cases:
//   - Prometheus scraped the agent at the start of the period.
//   - The agent started within the period.
//
// The header of rules.yaml explains all cases.
//
// If the agent restarted in the period, the latest value of the counter lacks the increase before the restart. PromQL's
// function increase handles restarts, but ignores the first value of a series. If the first value is part of the
// increase, the expression uses the larger of two numbers: the latest value, or the result of PromQL's function
// increase.
func (p period) increase(counter string) string {
	const agents = "on (cluster, job, instance)"
	seconds := int(p.length() / time.Second)
	return fmt.Sprintf("(increase(%[1]s[%[2]ds]) and %[1]s offset %[2]ds) or "+
		"((increase(%[1]s[%[2]ds]) > %[1]s or %[1]s) and %[3]s (podlapse_build_info offset %[2]ds or "+
		"podlapse_build_info and %[3]s time() - process_start_time_seconds < %[2]d)) or "+
		"increase(%[1]s[%[2]ds])", counter, seconds, agents)
}
