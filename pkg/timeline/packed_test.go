package timeline

import (
	"reflect"
	"testing"
	"time"

	"sigs.k8s.io/randfill"
)

// A field that Pack forgets makes this test fail.
func TestPackedTimelineHasEveryField(t *testing.T) {
	filler := randfill.NewWithSeed(1).NilChance(0.3).NumElements(0, 3).AllowUnexportedFields(true).Funcs(
		func(at *time.Time, c randfill.Continue) {
			if *at = (time.Time{}); c.Bool() {
				*at = time.Unix(c.Int63n(1<<33), c.Int63n(1e9)*c.Int63n(2)).UTC()
			}
		},
		func(s *Source, c randfill.Continue) { *s = []Source{SourceCRI, SourcePodWatch, "other"}[c.Intn(3)] },
		func(s *string, c randfill.Continue) { *s = []string{"", "app", c.String(20)}[c.Intn(3)] },
	)
	for range 1000 {
		var want Timeline
		filler.Fill(&want)
		want.Termination = nil
		if got := Pack(want).Timeline(); !reflect.DeepEqual(got, want) {
			t.Fatalf("got\n%+v, want\n%+v", got, want)
		}
	}
	if got := (Packed{}).Timeline(); !reflect.DeepEqual(got, Timeline{}) {
		t.Errorf("the zero Packed contains %+v", got)
	}
}

func TestPackedTimelineHasNoTermination(t *testing.T) {
	want := Timeline{Name: "web-0"}
	if got := Pack(Timeline{Name: "web-0", Termination: &Termination{}}).Timeline(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
