package export_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/podlapse/podlapse/pkg/export"
	"github.com/podlapse/podlapse/pkg/export/exporttest"
	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

func TestFixturesKeepToOurSchema(t *testing.T) {
	schema := exporttest.TimelineSchema(t)
	for _, tl := range append(export.Fixtures(), timeline.Timeline{State: timeline.StateStarting, Partial: true}) {
		schema.Check(t, exporttest.Lines(t, export.TimelineLines, tl, now)[0])
	}
}

// TestEveryFieldIsInTheSchema fills every field that a record can have.
func TestEveryFieldIsInTheSchema(t *testing.T) {
	var record export.Record
	fill(reflect.ValueOf(&record).Elem())
	line, err := json.Marshal(record)
	if err != nil {
		t.Fatal(err)
	}
	schema := exporttest.TimelineSchema(t)
	schema.Check(t, line)
	for what, spoiled := range map[string]string{
		"another field": strings.Replace(string(line), `{"id"`, `{"other":1,"id"`, 1),
		"a field below": strings.Replace(string(line), `"phases":[{`, `"phases":[{"other":1,`, 1),
		"no id":         strings.Replace(string(line), `"id":"x",`, "", 1),
		"an instant, half": strings.Replace(string(line), `"created_at":"2026-03-01T12:01:00.000000000Z"`,
			`"created_at":"2026-03-01"`, 1),
	} {
		if spoiled == string(line) || schema.Validate([]byte(spoiled)) == nil {
			t.Errorf("%s is no problem in %s", what, spoiled)
		}
	}
}

func fill(v reflect.Value) {
	switch v.Interface().(type) {
	case export.Instant:
		v.Set(reflect.ValueOf(export.Instant{Time: now}))
		return
	case timeline.State:
		v.SetString(string(timeline.StateReady))
		return
	case imagepull.Outcome:
		v.SetString(string(imagepull.OutcomeDownloaded))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(0.5)
	default:
		v.SetInt(int64(time.Millisecond))
	}
}
