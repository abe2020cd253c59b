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

// checkInstants checks every instant in the value that a pointer leads to. The zero instant is
// absent. Instants that can be set become UTC.
func checkInstants(pointer any) error { return checkValue(reflect.ValueOf(pointer)) }

func checkValue(v reflect.Value) error {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return checkValue(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			if err := checkValue(v.Index(i)); err != nil {
				return err
			}
		}
	case reflect.Struct:
		if t, ok := reflect.TypeAssert[time.Time](v); ok {
			if year := t.Year(); !t.IsZero() && (year < firstYear || year > lastYear) {
				return fmt.Errorf("invalid year %d of an instant: must be %d to %d", year, firstYear, lastYear)
			}
			if v.CanSet() && t.Location() != time.UTC {
				v.Set(reflect.ValueOf(t.UTC()))
			}
			return nil
		}
		for i := range v.NumField() {
			if err := checkValue(v.Field(i)); err != nil {
				return err
			}
		}
	}
	return nil
}
