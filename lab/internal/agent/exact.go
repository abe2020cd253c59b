package agent

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"time"
)

// Nanoseconds converts decimal seconds to a duration without rounding. A missing number, or one that is not a whole
// number of nanoseconds, is an error.
func Nanoseconds(seconds json.Number) (time.Duration, error) {
	// big.Rat also accepts fractions and huge exponents. A JSON number has neither.
	const longest = 40
	value, ok := new(big.Rat).SetString(seconds.String())
	if !ok || len(seconds) > longest {
		return 0, fmt.Errorf("%q is not a number of seconds", seconds)
	}
	value.Mul(value, big.NewRat(int64(time.Second), 1))
	if !value.IsInt() || !value.Num().IsInt64() || value.Num().Int64() == math.MinInt64 {
		return 0, fmt.Errorf("%q seconds are not a whole number of nanoseconds", seconds)
	}
	return time.Duration(value.Num().Int64()), nil
}

// Problems checks what the contract promises about every settled timeline: the phases follow each other without gaps,
// each is as long as the time between its ends, and they add up to the total, to the nanosecond.
func (t Timeline) Problems() []string {
	return inexact(t.Phases, t.TotalSeconds, t.CreatedAt, "settled_at", t.SettledAt)
}

// Problems checks the same for a termination.
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
		problem("there are no phases")
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
			problem("phases[%d] %s starts %s after the previous one ended", i, p.Phase, p.StartAt.Sub(at))
		}
		if between := p.EndAt.Sub(p.StartAt); between != length || length < 0 {
			problem("phases[%d] %s is %s seconds, but its ends are %s apart", i, p.Phase, p.Seconds, between)
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
