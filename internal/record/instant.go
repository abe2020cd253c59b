package record

import (
	"fmt"
	"reflect"
	"time"
)

// The core counts nanoseconds since the epoch as an int64, so it cannot represent later years. No
// clock of a cluster shows an earlier one; sources treat such timestamps as absent.
const (
	firstYear = 1970
	lastYear  = 2261
)

// checkInstants checks every instant in a value, which others may read at the same time. The zero
// instant is absent.
func checkInstants(value any) error { return checkValue(reflect.ValueOf(value), false) }

// setUTC checks every instant in the value that a pointer leads to, and makes it UTC.
func setUTC(pointer any) error { return checkValue(reflect.ValueOf(pointer), true) }

func checkValue(v reflect.Value, utc bool) error {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return checkValue(v.Elem(), utc)
		}
	case reflect.Slice:
		for i := range v.Len() {
			if err := checkValue(v.Index(i), utc); err != nil {
				return err
			}
		}
	case reflect.Struct:
		if t, ok := reflect.TypeAssert[time.Time](v); ok {
			if year := t.Year(); !t.IsZero() && (year < firstYear || year > lastYear) {
				return fmt.Errorf("invalid year %d of an instant: must be %d to %d", year, firstYear, lastYear)
			}
			if utc && t.Location() != time.UTC {
				v.Set(reflect.ValueOf(t.UTC()))
			}
			return nil
		}
		for i := range v.NumField() {
			if err := checkValue(v.Field(i), utc); err != nil {
				return err
			}
		}
	}
	return nil
}
