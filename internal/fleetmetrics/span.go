package fleetmetrics

import (
	"fmt"
	"time"
)

// Windows of the recording rules. A rule with one of these windows records the increase of counters in the window that
// ends at the evaluation of the rule.
const (
	quarter = 15 * time.Minute
	hour    = time.Hour
)

// span is the time of a report: whole hours before an instant.
type span struct {
	until time.Time
	hours int
}

// newSpan returns the span that ends at an instant. It rounds the length up to whole hours, because the rules for nodes
// and registries have windows of an hour.
func newSpan(until time.Time, length time.Duration) span {
	return span{until.Truncate(time.Second), int((length + hour - 1) / hour)}
}

func (s span) length() time.Duration { return time.Duration(s.hours) * hour }

func (s span) since() time.Time { return s.until.Add(-s.length()) }

// The method "sum" returns an expression for the sum of a recorded series over the span. The sum has one value for each
// window. The windows cover the whole span, and do not overlap.
func (s span) sum(series string, window time.Duration) string {
	return s.over("sum_over_time", series, window)
}

// The method "over" returns an expression that applies a function to a series. The function gets the values at the ends
// of all windows in the span. PromQL evaluates a subquery at multiples of the window. So the expression shifts the
// series, and the last window ends at the end of the span. The range is a second shorter than the span, because
// Prometheus 2 includes the start of a range, unlike Prometheus 3.
func (s span) over(function, series string, window time.Duration) string {
	return fmt.Sprintf("%s(%s[%ds:%dm])", function, s.shifted(series, window), int(s.length()/time.Second)-1,
		window/time.Minute)
}

// shifted returns an expression for a series that PromQL evaluates at multiples of the window.
func (s span) shifted(series string, window time.Duration) string {
	if shift := s.until.Unix() % int64(window/time.Second); shift > 0 {
		return fmt.Sprintf("(%s offset -%ds)", series, shift)
	}
	return series
}

// hoursWith returns an expression for the number of hours in which a recorded metric has at least one series.
func (s span) hoursWith(metric string) string {
	return fmt.Sprintf("count_over_time(group(%s)[%ds:60m])", s.shifted(metric, hour), int(s.length()/time.Second)-1)
}

// increase returns an expression for the increase of a counter over the span. The counter's series can begin later than
// the agent. A series that begins within the span counts from zero if the agent was scraped at the start of the span,
// or if the agent started later. rules.yaml explains the four cases. If the agent restarted in the span, the value of
// such a series lacks the time before the restart, so the increase without the first value can be larger.
func (s span) increase(counter string) string {
	const agents = "on (cluster, job, instance)"
	seconds := int(s.length() / time.Second)
	return fmt.Sprintf("(increase(%[1]s[%[2]ds]) and %[1]s offset %[2]ds) or "+
		"((increase(%[1]s[%[2]ds]) > %[1]s or %[1]s) and %[3]s (podlapse_build_info offset %[2]ds or "+
		"podlapse_build_info and %[3]s time() - process_start_time_seconds < %[2]d)) or "+
		"increase(%[1]s[%[2]ds])", counter, seconds, agents)
}
