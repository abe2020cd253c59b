package flags

import (
	"fmt"
	"slices"
	"strings"
)

// Text stores any value.
func Text(target *string) func(string) error {
	return func(value string) error {
		*target = value
		return nil
	}
}

// OnOff accepts one word for true and one for false.
func OnOff(target *bool, on, off string) func(string) error {
	return func(value string) error {
		var chosen string
		err := Choice(&chosen, on, off)(value)
		*target = chosen == on
		return err
	}
}

// Choice accepts one of a few words.
func Choice(target *string, words ...string) func(string) error {
	return func(value string) error {
		if slices.Contains(words, value) {
			*target = value
			return nil
		}
		last := len(words) - 1
		return fmt.Errorf("invalid value %q: must be %s or %s", value, strings.Join(words[:last], ", "), words[last])
	}
}
