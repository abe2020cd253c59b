package api

import "time"

// InstantLayout is the layout of an Instant, for package time. It always has nine decimals, so that
// instants also sort as text.
const InstantLayout = "2006-01-02T15:04:05.000000000Z"

// Instant is a point in time in records: RFC 3339 in UTC with nine decimals. The zero Instant is
// unknown; fields omit it.
type Instant struct{ time.Time }

// InstantOf converts a time to the form in records. It drops the monotonic clock reading, so that
// differences match the printed values.
func InstantOf(t time.Time) Instant { return Instant{t.Round(0).UTC()} }

// MarshalJSON implements json.Marshaler. time.Time's own method parses any RFC 3339 time.
func (i Instant) MarshalJSON() ([]byte, error) {
	text := append(make([]byte, 0, len(InstantLayout)+2), '"')
	return append(i.UTC().AppendFormat(text, InstantLayout), '"'), nil
}
