package agent

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"time"
)

// Nanoseconds converts decimal seconds to a duration without rounding. Nanoseconds returns an error if the number is
// missing or is not a whole number of nanoseconds.
func Nanoseconds(seconds json.Number) (time.Duration, error) {
	// longest is the maximum length of a number in characters. The agent's numbers are always shorter, because they
	// contain no fraction such as 1/3 and no exponent. big.Rat also accepts fractions and huge exponents.
	const longest = 40
	value, ok := new(big.Rat).SetString(seconds.String())
	if !ok || len(seconds) > longest {
		return 0, fmt.Errorf("invalid number of seconds %q", seconds)
	}
	value.Mul(value, big.NewRat(int64(time.Second), 1))
	if !value.IsInt() || !value.Num().IsInt64() || value.Num().Int64() == math.MinInt64 {
		return 0, fmt.Errorf("invalid number of seconds %q: must have at most nine decimal places", seconds)
	}
	return time.Duration(value.Num().Int64()), nil
}

// Problems checks the timeline of a start-up that is over. Problems returns the violations of these documented rules:
//   - Each phase starts when the previous phase ends.
//   - The duration of each phase equals the time between its start and its end.
//   - The sum of all durations equals the total exactly.
func (t Timeline) Problems() []string {
	return inexact(t.Phases, t.TotalSeconds, t.CreatedAt, "settled_at", t.SettledAt)
}

// Problems checks the phases of a termination, and returns the violations of the documented rules. The rules are the
// same as for the phases of a timeline.
func (t Termination) Problems() []string {
	return inexact(t.Phases, t.TotalSeconds, t.RequestedAt, "gone_at", t.GoneAt)
}

func inexact(phases []Phase, seconds json.Number, at time.Time, last string, end time.Time) []string {
	var problems []string
	problem := func(format string, arguments ...any) { problems = append(problems, fmt.Sprintf(format, arguments...)) }
	total, err := Nanoseconds(seconds)
	if err != nil {
		problem("total_seconds: %v", err)
	}
	if len(phases) == 0 {
		problem("the record contains no phases")
		return problems
	}
	var sum time.Duration
	for i, p := range phases {
		length, err := Nanoseconds(p.Seconds)
		if err != nil {
			problem("phases[%d] %s: %v", i, p.Phase, err)
		}
		sum += length
		if !p.StartAt.Equal(at) {
			problem("phases[%d] %s starts %s after the end of the previous phase", i, p.Phase, p.StartAt.Sub(at))
		}
		if between := p.EndAt.Sub(p.StartAt); between != length || length < 0 {
			problem("phases[%d] %s has %s seconds, but the time from its start to its end is %s", i, p.Phase, p.Seconds,
				between)
		}
		at = p.EndAt
	}
	if !end.Equal(at) {
		problem("%s is %s after the end of the last phase", last, end.Sub(at))
	}
	if sum != total {
		problem("the phases add up to %s, but total_seconds is %s", sum, total)
	}
	return problems
}
