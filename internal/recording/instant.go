package recording

import (
	"fmt"
	"reflect"
	"time"
)

// Valid years. Package timeline counts nanoseconds since 1970 in an int64, which overflows in the year 2262. Times
// before 1970 do not occur, because the sources treat such a timestamp as absent.
const (
	firstYear = 1970
	lastYear  = 2261
)

// checkInstants checks that the year of each timestamp in a value is valid. checkInstants does not change the value, so
// other goroutines can read the value at the same time. The zero time is valid, because it means that there is no
// timestamp.
func checkInstants(value any) error { return checkValue(reflect.ValueOf(value), false) }

// setUTC checks all timestamps in the value that the argument points to. setUTC also converts these timestamps to UTC.
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
				return fmt.Errorf("invalid year %d in a timestamp: must be %d to %d", year, firstYear, lastYear)
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
