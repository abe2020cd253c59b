package timeline_test

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/podlapse/podlapse/internal/recording"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// TestReplayOfTerminationScripts replays the scripts of terminations. The test replays recordings of an agent that
// follows terminations, and of an agent that does not.
func TestReplayOfTerminationScripts(t *testing.T) {
	for _, script := range timeline.TerminationScripts(t) {
		clock := timeline.PodSeen{ArrivedAt: script.AsOf, Pod: timeline.Pod{UID: "clock", Namespace: "zz"}}
		for _, followed := range []bool{false, true} {
			recorded := text(t, recording.Header{Terminations: followed}, append(script.Observations, clock))
			timelines, err := recording.Replay(recording.NewReader(bytes.NewReader(recorded)))
			if err != nil || len(timelines) != 2 {
				t.Fatalf("%s: %d timelines, %v", script.Name, len(timelines), err)
			}
			got := timelines[0].Termination
			if !followed {
				if got != nil {
					t.Errorf("%s: a termination although none is followed: %+v", script.Name, got)
				}
				continue
			}
			e := timeline.TerminationOf(script.Observations)
			if e == nil {
				if got != nil {
					t.Errorf("%s: %+v", script.Name, got)
				}
				continue
			}
			want := e.Termination(script.AsOf, timeline.Skew{})
			if got == nil || got.Total != want.Total || !reflect.DeepEqual(got.Phases, want.Phases) ||
				!reflect.DeepEqual(got.Stops, want.Stops) {
				t.Errorf("%s: replayed to\n%+v\nwant\n%+v", script.Name, got, want)
			}
		}
	}
}
