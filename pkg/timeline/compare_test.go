package timeline

import (
	"reflect"
	"testing"
	"time"
)

// TestCompareUsesEveryField changes each field separately. If a comparison ignored a field, the order of two
// observations with the same timestamp could change the timeline.
func TestCompareUsesEveryField(t *testing.T) {
	runs, layers := &Run{}, []Layer{{}}
	pod := func() *Pod {
		return &Pod{Traits: &Traits{}, Conditions: []Condition{{}}, Containers: []Container{{LastRun: &Run{}}}}
	}
	for name, changed := range changes(reflect.ValueOf(pod()).Elem()) {
		a, b := pod(), pod()
		changed(reflect.ValueOf(b).Elem())
		if comparePods(a, b) == 0 || comparePods(a, b) != -comparePods(b, a) {
			t.Errorf("pods with another %s compare as %d and %d", name, comparePods(a, b), comparePods(b, a))
		}
	}
	for name, changed := range changes(reflect.ValueOf(&Image{Layers: layers}).Elem()) {
		a, b := &Image{Layers: []Layer{{}}}, &Image{Layers: []Layer{{}}}
		changed(reflect.ValueOf(b).Elem())
		if compareImages(a, b) == 0 || compareImages(a, b) != -compareImages(b, a) {
			t.Errorf("images with another %s compare as %d and %d", name, compareImages(a, b), compareImages(b, a))
		}
	}
	if compareRuns(nil, runs) >= 0 || compareRuns(runs, nil) <= 0 || compareRuns(nil, nil) != 0 {
		t.Error("an absent run must come before any run")
	}
}

// changes returns a map of functions, one for each field of a struct and of its nested structs. Each function in the
// map changes one field.
func changes(v reflect.Value) map[string]func(reflect.Value) {
	all := map[string]func(reflect.Value){}
	for i := range v.NumField() {
		name, field := v.Type().Field(i).Name, v.Field(i)
		at := func(of reflect.Value) reflect.Value { return of.Field(i) }
		switch {
		case field.Type() == reflect.TypeFor[time.Time]():
			all[name] = func(of reflect.Value) { at(of).Set(reflect.ValueOf(base)) }
			continue
		case field.Kind() == reflect.Slice:
			at = func(of reflect.Value) reflect.Value { return of.Field(i).Index(0) }
			all[name] = func(of reflect.Value) { of.Field(i).SetZero() }
		case field.Kind() == reflect.Pointer:
			at = func(of reflect.Value) reflect.Value { return of.Field(i).Elem() }
			all[name] = func(of reflect.Value) { of.Field(i).SetZero() }
		}
		switch inner := at(v); inner.Kind() {
		case reflect.Struct:
			for within, change := range changes(inner) {
				all[name+"."+within] = func(of reflect.Value) { change(at(of)) }
			}
		case reflect.String:
			all[name] = func(of reflect.Value) { at(of).SetString("other") }
		case reflect.Bool:
			all[name] = func(of reflect.Value) { at(of).SetBool(true) }
		default:
			all[name] = func(of reflect.Value) { at(of).SetInt(1) }
		}
	}
	return all
}
