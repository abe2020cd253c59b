package api

import "time"

// InstantLayout is the text format of an Instant, as a layout for package time. InstantLayout always has nine decimals,
// so that instants sort correctly as text.
const InstantLayout = "2006-01-02T15:04:05.000000000Z"

// Instant is a point in time in a record. JSON shows an Instant as RFC 3339 in UTC with nine decimals. The zero Instant
// means unknown, and JSON omits the zero Instant.
type Instant struct{ time.Time }

// InstantOf converts a time.Time to an Instant. InstantOf drops the monotonic clock reading, so that the difference
// between two instants equals the difference between their printed values.
func InstantOf(t time.Time) Instant { return Instant{t.Round(0).UTC()} }

// MarshalJSON implements json.Marshaler. To decode JSON, Instant uses the method UnmarshalJSON of time.Time. This
// method parses any RFC 3339 time.
func (i Instant) MarshalJSON() ([]byte, error) {
	text := append(make([]byte, 0, len(InstantLayout)+2), '"')
	return append(i.UTC().AppendFormat(text, InstantLayout), '"'), nil
}
