package api

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Seconds is a duration that JSON shows as a decimal number of seconds, exact to the nanosecond. Encoding and
// decoding do not use float64, because float64 cannot hold every sum of durations exactly.
type Seconds time.Duration

const nanosPerSecond = uint64(time.Second)

// Duration returns s as a time.Duration.
func (s Seconds) Duration() time.Duration { return time.Duration(s) }

// String returns the decimal without a unit and without trailing zeros.
func (s Seconds) String() string { return string(s.text()) }

func (s Seconds) text() []byte {
	text, n := make([]byte, 0, len("-9223372036.854775808")), uint64(s)
	if s < 0 {
		text, n = append(text, '-'), -n // n is unsigned, so -n is correct even for the smallest int64
	}
	text = strconv.AppendUint(text, n/nanosPerSecond, 10)
	fraction := n % nanosPerSecond
	if fraction == 0 {
		return text
	}
	end := len(text)
	// AppendUint adds ten digits here; the next line replaces the leading 1 with the decimal point.
	text = strconv.AppendUint(text, nanosPerSecond+fraction, 10)
	text[end] = '.'
	return bytes.TrimRight(text, "0")
}

// MarshalJSON implements json.Marshaler.
func (s Seconds) MarshalJSON() ([]byte, error) { return s.text(), nil }

// UnmarshalJSON implements json.Unmarshaler. UnmarshalJSON accepts plain decimals with at most nine digits after
// the point. UnmarshalJSON rejects any value that it cannot store exactly.
func (s *Seconds) UnmarshalJSON(data []byte) error {
	text := string(data)
	if text == "null" { // by convention, null leaves the value unchanged (json.Unmarshaler)
		return nil
	}
	parsed, err := parseSeconds(text)
	if err != nil {
		return fmt.Errorf("parse the number of seconds %.40q: %w", text, err)
	}
	*s = parsed
	return nil
}

func parseSeconds(text string) (Seconds, error) {
	digits, negative := strings.CutPrefix(text, "-")
	whole, fraction, pointed := strings.Cut(digits, ".")
	if pointed && (fraction == "" || len(fraction) > 9) {
		return 0, fmt.Errorf("the number must have one to nine digits after the decimal point")
	}
	w, err := strconv.ParseUint(whole, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("the value must be a decimal number")
	}
	var f uint64
	if pointed {
		padded := fraction + strings.Repeat("0", 9-len(fraction))
		if f, err = strconv.ParseUint(padded, 10, 64); err != nil {
			return 0, fmt.Errorf("the value must be a decimal number")
		}
	}
	limit := uint64(math.MaxInt64)
	if negative {
		limit++
	}
	if w > limit/nanosPerSecond || w*nanosPerSecond+f > limit {
		return 0, fmt.Errorf("the number of nanoseconds must fit in 64 bits")
	}
	n := Seconds(w*nanosPerSecond + f)
	if negative {
		n = -n
	}
	return n, nil
}
