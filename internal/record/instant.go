package record

import (
	"fmt"
	"time"
)

// The core counts nanoseconds since the epoch as an int64, so it cannot represent later years. No
// clock of a cluster shows an earlier one; sources treat such timestamps as absent.
const (
	firstYear = 1970
	lastYear  = 2261
)

// instant is a time.Time that is written in UTC with up to nine decimals (RFC 3339). The zero
// instant is absent: fields of this type are tagged omitzero.
type instant struct{ time.Time }

// utc drops location and monotonic reading, which a recording does not keep.
func utc(t time.Time) instant { return instant{t.Round(0).UTC()} }

// MarshalJSON implements json.Marshaler.
func (i instant) MarshalJSON() ([]byte, error) {
	if err := i.check(); err != nil {
		return nil, err
	}
	return i.Time.MarshalJSON()
}

// UnmarshalJSON implements json.Unmarshaler. It accepts any offset.
func (i *instant) UnmarshalJSON(text []byte) error {
	var t time.Time
	if err := t.UnmarshalJSON(text); err != nil {
		return err
	}
	*i = utc(t)
	return i.check()
}

func (i instant) check() error {
	if year := i.Year(); !i.IsZero() && (year < firstYear || year > lastYear) {
		return fmt.Errorf("invalid year %d of an instant: must be %d to %d", year, firstYear, lastYear)
	}
	return nil
}
