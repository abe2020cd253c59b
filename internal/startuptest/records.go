package startuptest

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// Lines encodes the records of a start-up as JSON lines. The function "kind" creates the records.
func Lines(t testing.TB, kind func(timeline.Timeline, time.Time) []any, tl timeline.Timeline, now time.Time) [][]byte {
	t.Helper()
	var lines [][]byte
	for _, value := range kind(tl, now) {
		var line bytes.Buffer
		encoder := json.NewEncoder(&line)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(value); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line.Bytes())
	}
	return lines
}

// Golden compares a text with a file in testdata. If the argument "update" is true, Golden first replaces the content
// of the file with the text.
func Golden(t testing.TB, update bool, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; got:\n%s\nwant:\n%s", path, got, want)
	}
}

// Fill sets every field of a record, so that its JSON has every key.
func Fill[R any](record *R) { fill(reflect.ValueOf(record).Elem()) }

func fill(v reflect.Value) {
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(After(time.Minute)))
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
