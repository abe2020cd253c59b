package flags

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Text returns a function for Flag.Set that stores any value in target.
func Text(target *string) func(string) error {
	return func(value string) error {
		*target = value
		return nil
	}
}

// Values of a switch. The help, the completion and the default of a switch use "on" and "off".
const (
	on  = "on"
	off = "off"
)

// Switch creates a flag with the values "on" and "off". The default is "off". If the command line contains the flag
// without a value, the value is "on". The flag also accepts "true" and "false".
func Switch(name, variable string, target *bool, help string) Flag {
	return Flag{
		Name: name, Variable: variable, Value: on + "|" + off, Default: off, Switch: true, Help: help,
		Set: func(value string) error {
			set, ok := switchValue(value)
			if !ok {
				return fmt.Errorf("invalid value %q: must be %s, %s, true or false", value, on, off)
			}
			*target = set
			return nil
		},
	}
}

func switchValue(value string) (set, ok bool) {
	switch value {
	case on, "true":
		return true, true
	case off, "false":
		return false, true
	}
	return false, false
}

// Duration returns a function for Flag.Set that stores a duration in the argument "target". The function accepts
// durations above zero and up to the argument "most". If "most" is at least a day, the duration can also be a number of
// days, such as 2d. Each error contains the argument "valid", which states the limit and an example. The function
// rejects an empty duration. If an empty duration were valid, a script that passes an unset variable would silently
// lose its limit.
func Duration(target *time.Duration, most time.Duration, valid string) func(string) error {
	const day = 24 * time.Hour
	units := "s, m or h"
	if most >= day {
		units = "s, m, h or d"
	}
	return func(value string) error {
		if value == "" {
			return fmt.Errorf("the duration is empty: remove the flag, or set a number with the unit %s, %s", units,
				valid)
		}
		duration, err := time.ParseDuration(value)
		if days, ok := strings.CutSuffix(value, "d"); ok && most >= day {
			var number uint64
			number, err = strconv.ParseUint(days, 10, 16)
			duration = time.Duration(number) * day
		}
		if err != nil || duration <= 0 || duration > most {
			return fmt.Errorf("invalid duration %q: must be a number with the unit %s, and must be %s", value, units,
				valid)
		}
		*target = duration
		return nil
	}
}

// Choice returns a function for Flag.Set. The function accepts only the given words, and stores the accepted word in
// target.
func Choice(target *string, words ...string) func(string) error {
	return func(value string) error {
		if slices.Contains(words, value) {
			*target = value
			return nil
		}
		return fmt.Errorf("invalid value %q: must be %s", value, OneOf(words))
	}
}

// OneOf lists alternatives for a message: "a, b or c".
func OneOf(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
